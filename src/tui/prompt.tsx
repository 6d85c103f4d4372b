import { Text } from 'ink';
import { type ReactNode, useState } from 'react';
import { useKey } from './keyboard.ts';
import { Tint } from './tint.tsx';

export interface PromptProps {
  question: string;
  initial?: string;
  onAnswer: (text: string) => void;
  onCancel: () => void;
}

/** Asks for a line of text. Enter submits it, Escape cancels. */
export function Prompt({ question, initial = '', onAnswer, onCancel }: PromptProps): ReactNode {
  const [text, setText] = useState(initial);
  // Text that is pasted or typed fast arrives as one input, together with its Enter.
  const type = (input: string) => {
    const [line = '', ...more] = input.split(/[\r\n]/);
    const next = text + printable(line);
    if (more.length > 0) onAnswer(next.trim());
    else setText(next);
  };
  useKey((input, key) => {
    if (key.return) onAnswer(text.trim());
    else if (key.escape) onCancel();
    else if (key.backspace || key.delete) setText(withoutLast);
    else if (key.ctrl && input === 'u') setText('');
    else if (!key.ctrl && !key.meta) type(input);
  });
  return (
    <Text wrap="truncate-start">
      <Tint tone="asks">{question}</Tint> {text}
      <Text inverse> </Text>
    </Text>
  );
}

/** An input as one line, with a space for each run of control characters. */
function printable(input: string): string {
  return input.replaceAll(/[\u0000-\u001f\u007f-\u009f]+/g, ' ');
}

/** The text without its last grapheme. */
function withoutLast(text: string): string {
  const last = [...new Intl.Segmenter().segment(text)].at(-1);
  return text.slice(0, last?.index ?? 0);
}
