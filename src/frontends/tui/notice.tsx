import { Text } from 'ink';
import type { ReactNode } from 'react';
import { oneLine } from '../../client/event-summary.ts';
import { truncated, wrapped } from '../terminal/width.ts';
import type { Connection } from './follow.ts';
import { StyledText } from './styled-text.tsx';

/** The maximum number of lines of a notice; 40 columns of them have room for what a server usually refuses with. */
const MOST = 6;

/**
 * The lines of the notice, or the reason for a refused connection; empty without either. `beside`: the number of columns
 * that are used on the right.
 */
export function noticeLines(
  { notice, connection }: { notice: string; connection?: Connection },
  { columns, beside }: { columns: number; beside: number },
): string[] {
  const refusal = connection?.state === 'refused' ? oneLine(connection.why) : '';
  const text = notice === '' ? refusal : notice;
  if (text === '') return [];
  const width = Math.max(2, columns - beside - 1);
  const lines = wrapped(text, width, { trims: true });
  return [
    ...lines.slice(0, MOST - 1),
    ...(lines.length < MOST ? [] : [truncated(lines.slice(MOST - 1).join(' '), width)]),
  ];
}

/** The lines of a notice; without any the hint, on one line. */
export function Notice({ lines, hint }: { lines: readonly string[]; hint: string }): ReactNode {
  return (
    <Text wrap="truncate-end">
      <StyledText tone={lines.length === 0 ? 'faint' : 'asks'}>
        {lines.length === 0 ? hint : lines.join('\n')}
      </StyledText>
    </Text>
  );
}
