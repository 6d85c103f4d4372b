import type { Key } from 'ink';
import { type ReactNode, useEffect, useRef, useState } from 'react';
import type { AgentCommand } from '../../../api/commands.ts';
import { endpoints } from '../../../api/index.ts';
import type { Session } from '../../../api/sessions.ts';
import type { Client } from '../../../client/client.ts';
import { slashCompleted, slashMatches, slashText } from '../../../client/slash.ts';
import { commonStart, fileMatches } from '../../../client/file-mentions.ts';
import { type PromptHistory, Recall } from '../../../core/lib/prompt-history.ts';
import { truncated } from '../../terminal/width.ts';
import { sessionTitleOf } from '../list/row-text.ts';
import { StyledText } from '../styled-text.tsx';
import { type Editor, emptyEditor, visibleLines } from './editor.ts';
import { TextBox, useEditor } from './field.tsx';

interface PromptFieldProps {
  session: Session;
  drafts: Map<string, Editor>;
  history: PromptHistory | null;
  columns: number;
  /** The most lines that it may take. */
  rows: number;
  client: Client;
  onSend: (text: string) => void;
  onLeave: () => void;
}

/** A field for a prompt. The draft of each session is kept until it is sent. */
export function PromptField(props: PromptFieldProps): ReactNode {
  const { session, drafts, columns, rows, client, onSend, onLeave } = props;
  const { editor, change, latest } = useEditor(drafts.get(session.id) ?? emptyEditor);
  const write = (next: (editor: Editor) => Editor) => {
    change(next);
    drafts.set(session.id, latest());
  };
  const recalls = useRecall(props.history, latest, write);
  const commands = useCommands(client, session.id, editor.text.startsWith('/'));
  const matches = slashMatches(editor.text, commands);
  const offered = `tab: ${matches.map(slashText).join('  ')}`;
  const keys = columns < 60 ? '⏎ send' : '⏎ send  ^J new line  esc keep draft';
  return (
    <TextBox
      title={<StyledText tone="name">{`Prompt for ${sessionTitleOf(session)}`}</StyledText>}
      hint={matches.length > 0 ? truncated(offered, Math.max(20, columns - 16)) : keys}
      editor={editor}
      columns={columns}
      rows={Math.max(2, rows - 1)}
      height={Math.max(1, Math.min(rows - 1, visibleLines(editor, columns - 2).lines.length))}
      onChange={write}
      onEnter={() => {
        const { text } = latest();
        if (text.trim() === '') return;
        props.history?.add(text);
        onSend(text);
      }}
      onOther={(input, key) => {
        if (recalls(input, key)) return;
        if (key.escape) onLeave();
        if (!key.tab) return;
        const typed = latest().text;
        const files = fileMatches(typed, session.cwd);
        const text = files.length > 0 ? commonStart(files) : slashCompleted(typed, commands);
        write(() => ({ text, cursor: text.length }));
      }}
    />
  );
}

function useCommands(
  client: Client,
  session_id: string,
  isNeeded: boolean,
): readonly AgentCommand[] {
  const [commands, setCommands] = useState<readonly AgentCommand[]>([]);
  useEffect(() => {
    // Without them the text is written as ever.
    if (isNeeded)
      client
        .call(endpoints.listCommands, { params: { session_id } })
        .then(setCommands, () => undefined);
  }, [client, isNeeded, session_id]);
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
    if (found === null) return true;
    // With the cursor in its first line, the next prompt is one key away.
    const cursor = key.upArrow ? (found.split('\n', 1)[0] ?? '').length : found.length;
    change(() => ({ text: found, cursor }));
    return true;
  };
}
