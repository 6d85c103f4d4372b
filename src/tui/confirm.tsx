import { Text } from 'ink';
import type { ReactNode } from 'react';
import { useKey } from './keyboard.ts';
import { Tint } from './tint.tsx';

/** Asks for a yes; any other key is a no. */
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
