import { Box, Text, useWindowSize } from 'ink';
import type { ReactNode } from 'react';
import { emptyEditor, inserted } from './forms/editor.ts';
import { Field, useEditor } from './forms/field.tsx';
import { useKey } from './keyboard.ts';
import { StyledText } from './styled-text.tsx';

export interface PromptProps {
  question: string;
  initial?: string;
  /** The width of the line; by default the width of the terminal. */
  columns?: number;
  onChange?: (text: string) => void;
  onAnswer: (text: string) => void;
  onCancel: () => void;
}

/** Asks for a line of text. Enter submits it, Escape cancels. */
export function Prompt(props: PromptProps): ReactNode {
  const window = useWindowSize();
  const { question, initial = '', columns = window.columns, onChange, onAnswer, onCancel } = props;
  const { editor, change, latest } = useEditor(inserted(emptyEditor, initial));
  // Half of the line is left to the answer, however long the question is.
  const width = Math.max(Math.floor(columns / 2), columns - question.length - 1);
  useKey((_input, key) => {
    if (key.escape) onCancel();
  });
  return (
    <Box height={1}>
      <Box flexShrink={1} minWidth={0}>
        <StyledText tone="asks">{question}</StyledText>
      </Box>
      <Text> </Text>
      <Box width={width} flexShrink={0}>
        <Field
          editor={editor}
          columns={width}
          rows={1}
          isActive
          onChange={(next) => {
            change(next);
            onChange?.(latest().text);
          }}
          onEnter={() => onAnswer(latest().text.trim())}
        />
      </Box>
    </Box>
  );
}
