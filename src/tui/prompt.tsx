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

/** Asks for a line. Enter gives it, Escape takes it back. */
export function Prompt({ question, initial = '', onAnswer, onCancel }: PromptProps): ReactNode {
  const [text, setText] = useState(initial);
  // What is typed fast, or pasted, comes at once, with its Enter.
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

/** What was typed or pasted, as one line. */
function printable(input: string): string {
  return input.replaceAll(/[\u0000-\u001f\u007f-\u009f]+/g, ' ');
}

/** Without the last character as people see it. */
function withoutLast(text: string): string {
  const last = [...new Intl.Segmenter().segment(text)].at(-1);
  return text.slice(0, last?.index ?? 0);
}
