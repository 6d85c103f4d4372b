import { Text } from 'ink';
import type { ReactNode } from 'react';
import { oneLine } from '../client/telling.ts';
import type { Connection } from './follow.ts';
import { Tint } from './tint.tsx';

/** The notice; without one why the connection was refused, if it was; else the hint. */
export function Notice({
  notice,
  connection,
  hint,
}: {
  notice: string;
  connection: Connection;
  hint: string;
}): ReactNode {
  const refusal = connection.state === 'refused' ? oneLine(connection.why) : '';
  const text = notice === '' ? refusal : notice;
  return (
    <Text wrap="truncate-end">
      <Tint tone={text === '' ? 'faint' : 'asks'}>{text === '' ? hint : text}</Tint>
    </Text>
  );
}
