import { Text } from 'ink';
import type { ReactNode } from 'react';
import { useKey } from '../keyboard.ts';
import type { Question } from './question.ts';
import { Tint } from '../tint.tsx';

/** Asks a question that single keys answer. Any other key answers it with no. */
export function Confirm({
  question: { text, answers },
  attempt,
  onDone,
}: {
  question: Question;
  attempt: (work: Promise<unknown>) => void;
  onDone: () => void;
}): ReactNode {
  useKey((input) => {
    const answer = answers.find(({ keys }) => input !== '' && keys.includes(input));
    onDone();
    if (answer) attempt(answer.work());
  });
  return (
    <Text wrap="truncate-end">
      <Tint tone="asks">{text}</Tint>
      {`  ${answers.map(({ label }) => label).join('  ')}  `}
      <Tint tone="faint">other keys: cancel</Tint>
    </Text>
  );
}
