import { Text } from 'ink';
import type { ReactNode } from 'react';
import { oneLine } from '../client/telling.ts';
import type { Connection } from './follow.ts';
import { Tint } from './tint.tsx';

/** What a person has to know just now: what they were told last, else why nothing comes, else what is always so. */
export function Told({
  notice,
  connection,
  otherwise,
}: {
  notice: string;
  connection: Connection;
  otherwise: string;
}): ReactNode {
  const why = connection.state === 'refused' ? oneLine(connection.why) : '';
  const told = notice === '' ? why : notice;
  return (
    <Text wrap="truncate-end">
      <Tint tone={told === '' ? 'faint' : 'asks'}>{told === '' ? otherwise : told}</Tint>
    </Text>
  );
}
