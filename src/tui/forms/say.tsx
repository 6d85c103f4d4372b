import { Box } from 'ink';
import type { ReactNode } from 'react';
import type { Session } from '../../api/sessions.ts';
import { Bar } from '../bar.tsx';
import { titleOf } from '../list/row-text.ts';
import { Tint } from '../tint.tsx';
import { type Editor, emptyEditor, shownLines } from './editor.ts';
import { Field } from './field.tsx';
import { useEditor } from './use-editor.ts';

interface SayProps {
  session: Session;
  drafts: Map<string, Editor>;
  columns: number;
  /** The most lines that it may take. */
  rows: number;
  onSend: (text: string) => void;
  onLeave: () => void;
}

/** Writes what is said to a session. What was begun is kept for each session until it was sent. */
export function Say({ session, drafts, columns, rows, onSend, onLeave }: SayProps): ReactNode {
  const { editor, change, latest } = useEditor(drafts.get(session.id) ?? emptyEditor);
  const height = Math.max(1, Math.min(rows - 1, shownLines(editor, columns - 2).lines.length));
  return (
    <Box flexDirection="column" width={columns} height={height + 1} flexShrink={0}>
      <Bar
        left={<Tint tone="name" wrap="truncate-end">{`to ${titleOf(session)}`}</Tint>}
        right={
          <Tint tone="faint">
            {columns < 60 ? 'enter sends' : 'enter sends  ^J new line  esc keeps it'}
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
            if (text.trim() !== '') onSend(text);
          }}
          onOther={(_input, key) => {
            if (key.escape) onLeave();
          }}
        />
      </Box>
    </Box>
  );
}
