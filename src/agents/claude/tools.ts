import { z } from 'zod';
import { cutTitle } from '../../core/lib/cut-title.ts';
import type { AgentRequest } from '../provider.ts';
import { maybeText } from '../lenient.ts';
import { ownEntry } from '../../core/lib/own-entry.ts';

export function toolKindOf(tool: string): string {
  return ownEntry(kinds, tool) ?? 'other';
}

const kinds: Record<string, string> = {
  Bash: 'execute',
  Edit: 'edit',
  MultiEdit: 'edit',
  NotebookEdit: 'edit',
  Write: 'edit',
  Glob: 'search',
  Grep: 'search',
  Read: 'read',
  Task: 'think',
  TodoWrite: 'think',
  WebFetch: 'fetch',
  WebSearch: 'fetch',
};

export function approvalKindOf(tool: string): AgentRequest['kind'] {
  if (tool === 'AskUserQuestion') return 'question';
  const kind = toolKindOf(tool);
  return kind === 'execute' ? 'command' : kind === 'edit' ? 'file_change' : 'tool';
}

const used = z.looseObject({
  command: maybeText,
  file_path: maybeText,
  notebook_path: maybeText,
  pattern: maybeText,
  url: maybeText,
  query: maybeText,
  description: maybeText,
  questions: z.array(z.looseObject({ question: z.string() })).catch([]),
});

/** The title of a call for people: a command as it is, else the tool and what it is used on. */
export function toolTitleOf(tool: string, input: unknown): string {
  const fields = used.safeParse(input).data;
  if (!fields) return cutTitle(tool);
  if (tool === 'Bash' && fields.command) return cutTitle(fields.command);
  if (fields.questions.length > 0)
    return cutTitle(fields.questions.map(({ question }) => question).join(' '));
  const { file_path, notebook_path, command, pattern, url, query, description } = fields;
  const on = file_path ?? notebook_path ?? command ?? pattern ?? url ?? query ?? description;
  return cutTitle(on ? `${tool} ${on}` : tool);
}
