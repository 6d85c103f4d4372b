import { Box } from 'ink';
import type { ReactNode } from 'react';
import { Bar } from '../bar.tsx';
import { emptyEditor, inserted } from '../forms/editor.ts';
import { Field } from '../forms/field.tsx';
import { useEditor } from '../forms/use-editor.ts';
import { Tint } from '../tint.tsx';

interface ComposeProps {
  title: string;
  initial: string;
  columns: number;
  /** With the line of the title. */
  rows: number;
  onDone: (text: string) => void;
  onLeave: () => void;
}

/** A field for a text of several lines below the diff. An empty text leaves the field. */
export function Compose(props: ComposeProps): ReactNode {
  const { title, initial, columns, rows, onDone, onLeave } = props;
  const { editor, change, latest } = useEditor(inserted(emptyEditor, initial));
  return (
    <Box flexDirection="column" height={rows} flexShrink={0}>
      <Bar
        left={
          <Tint tone="asks" wrap="truncate-end">
            {title}
          </Tint>
        }
        right={
          <Tint tone="faint">{columns < 60 ? '⏎ save' : '⏎ save  ^J new line  esc cancel'}</Tint>
        }
      />
      <Box height={rows - 1}>
        <Tint tone="name">{'> '}</Tint>
        <Field
          editor={editor}
          columns={columns - 2}
          rows={Math.max(2, rows - 1)}
          isActive
          placeholder="Comment for the agent"
          onChange={change}
          onEnter={() => {
            const text = latest().text.trim();
            if (text === '') onLeave();
            else onDone(text);
          }}
          onOther={(_input, key) => {
            if (key.escape) onLeave();
          }}
        />
      </Box>
    </Box>
  );
}
