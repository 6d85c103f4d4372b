import { z } from 'zod';
import { cutTitle } from '../../core/lib/cut-title.ts';
import type { AgentRequest } from '../provider.ts';

/** The kind of a tool, in the words that all providers share. */
export function toolKindOf(tool: string): string {
  return kinds[tool] ?? 'other';
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
  return (
    ({ execute: 'command', edit: 'file_change' }[toolKindOf(tool)] as AgentRequest['kind']) ??
    'tool'
  );
}

const summarizeEvent = z.looseObject({
  command: z.string().optional().catch(undefined),
  file_path: z.string().optional().catch(undefined),
  notebook_path: z.string().optional().catch(undefined),
  pattern: z.string().optional().catch(undefined),
  url: z.string().optional().catch(undefined),
  query: z.string().optional().catch(undefined),
  description: z.string().optional().catch(undefined),
  questions: z
    .array(z.looseObject({ question: z.string() }))
    .optional()
    .catch(undefined),
});

/** The title of a call for people: a command as it is, else the tool and what it is used on. */
export function toolTitleOf(tool: string, input: unknown): string {
  const said = summarizeEvent.safeParse(input).data ?? {};
  if (tool === 'Bash' && said.command) return cutTitle(said.command);
  if (said.questions?.length)
    return cutTitle(said.questions.map(({ question }) => question).join(' '));
  const on =
    said.file_path ??
    said.notebook_path ??
    said.command ??
    said.pattern ??
    said.url ??
    said.query ??
    said.description;
  return cutTitle(on ? `${tool} ${on}` : tool);
}
