import { Box, type Key } from 'ink';
import { type ReactNode, useEffect, useRef, useState } from 'react';
import type { AgentCommand } from '../../../api/commands.ts';
import type { Session } from '../../../api/sessions.ts';
import { slashCompleted, slashMatches, slashText } from '../../../client/slash.ts';
import { commonStart, fileMatches } from '../../../client/file-mentions.ts';
import { type PromptHistory, Recall } from '../../../core/lib/prompt-history.ts';
import { truncated } from '../../terminal/width.ts';
import type { Acts } from '../acts.ts';
import { Bar } from '../bar.tsx';
import { sessionTitleOf } from '../list/row-text.ts';
import { Tint } from '../tint.tsx';
import { type Editor, emptyEditor, visibleLines } from './editor.ts';
import { Field } from './field.tsx';
import { useEditor } from './use-editor.ts';

interface SayProps {
  session: Session;
  drafts: Map<string, Editor>;
  history: PromptHistory | null;
  columns: number;
  /** The most lines that it may take. */
  rows: number;
  acts: Pick<Acts, 'commands'>;
  onSend: (text: string) => void;
  onLeave: () => void;
}

/** A field for a prompt. The draft of each session is kept until it is sent. */
export function Say(props: SayProps): ReactNode {
  const { session, drafts, columns, rows, acts, onSend, onLeave } = props;
  const { editor, change, latest } = useEditor(drafts.get(session.id) ?? emptyEditor);
  const recalls = useRecall(props.history, latest, (next) => {
    change(next);
    drafts.set(session.id, latest());
  });
  const commands = useCommands(acts, session.id, editor.text.startsWith('/'));
  const matches = slashMatches(editor.text, commands);
  const height = Math.max(1, Math.min(rows - 1, visibleLines(editor, columns - 2).lines.length));
  return (
    <Box flexDirection="column" width={columns} height={height + 1} flexShrink={0}>
      <Bar
        left={
          <Tint tone="name" wrap="truncate-end">{`Prompt for ${sessionTitleOf(session)}`}</Tint>
        }
        right={
          <Tint tone="faint">
            {matches.length > 0
              ? truncated(`tab: ${matches.map(slashText).join('  ')}`, Math.max(20, columns - 16))
              : columns < 60
                ? '⏎ send'
                : '⏎ send  ^J new line  esc keep draft'}
          </Tint>
        }
      />
      <Box height={height}>
        <Tint tone="name">{'> '}</Tint>
        <Field
          editor={editor}
          columns={columns - 2}
          rows={Math.max(2, rows - 1)}
          isActive
          placeholder=""
          onChange={(next) => {
            change(next);
            drafts.set(session.id, latest());
          }}
          onEnter={() => {
            const { text } = latest();
            if (text.trim() === '') return;
            props.history?.add(text);
            onSend(text);
          }}
          onOther={(input, key) => {
            if (recalls(input, key)) return;
            if (key.escape) onLeave();
            if (key.tab) {
              const typed = latest().text;
              const files = fileMatches(typed, session.cwd);
              const text = files.length > 0 ? commonStart(files) : slashCompleted(typed, commands);
              change(() => ({ text, cursor: text.length }));
              drafts.set(session.id, latest());
            }
          }}
        />
      </Box>
    </Box>
  );
}

/** The commands of a session, once they are needed. */
function useCommands(
  acts: SayProps['acts'],
  sessionId: string,
  isNeeded: boolean,
): readonly AgentCommand[] {
  const [commands, setCommands] = useState<readonly AgentCommand[]>([]);
  useEffect(() => {
    // Without them the text is written as ever.
    if (isNeeded) acts.commands(sessionId).then(setCommands, () => undefined);
  }, [acts, isNeeded, sessionId]);
  return commands;
}

/**
 * Puts earlier prompts into an editor: up and down go through them, and Ctrl-R goes to those that contain what is written.
 * Returns the handler of these keys, which answers whether a key was one of them.
 */
function useRecall(
  history: PromptHistory | null,
  latest: () => Editor,
  change: (next: (editor: Editor) => Editor) => void,
): (input: string, key: Key) => boolean {
  const known = useRef<{ recall: Recall; added: number }>(undefined);
  return (input, key) => {
    const isSearch = key.ctrl && input === 'r';
    if (!history || !(isSearch || key.upArrow || key.downArrow)) return false;
    // Read with the first of these keys, and again after a prompt was sent.
    const { added } = history;
    if (known.current?.added !== added)
      known.current = { recall: new Recall(history.read()), added };
    const { recall } = known.current;
    const { text } = latest();
    const found = isSearch
      ? recall.search(text)
      : key.upArrow
        ? recall.older(text)
        : recall.newer(text);
    // With the cursor in its first line, the next prompt is one key away.
    if (found !== null)
      change(() => ({ text: found, cursor: key.upArrow ? firstLine(found) : found.length }));
    return true;
  };
}

function firstLine(text: string): number {
  const end = text.indexOf('\n');
  return end < 0 ? text.length : end;
}
