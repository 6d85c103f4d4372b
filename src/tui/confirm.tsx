import { Text } from 'ink';
import type { ReactNode } from 'react';
import { useKey } from './keyboard.ts';
import { Tint } from './tint.tsx';

/** Asks a question that the key y answers with yes, and any other key with no. */
export function Confirm({
  question,
  onAnswer,
}: {
  question: string;
  onAnswer: (yes: boolean) => void;
}): ReactNode {
  useKey((input) => onAnswer(input === 'y'));
  return (
    <Text wrap="truncate-end">
      <Tint tone="asks">{question}</Tint> [y/N]
    </Text>
  );
}
