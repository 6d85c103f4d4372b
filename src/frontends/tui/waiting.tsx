import { Box, Text } from 'ink';
import type { ReactNode } from 'react';
import type { Approval } from '../../api/approvals.ts';
import { oneLine } from '../../client/event-summary.ts';
import { Tint } from './tint.tsx';

/** The pending approval that the keys answer, and the number of pending approvals. */
export function Waiting({
  approval,
  index,
  count,
  columns,
}: {
  approval: Approval;
  index: number;
  count: number;
  columns: number;
}): ReactNode {
  const { kind, title, session_id } = approval;
  const isNarrow = columns < 60;
  return (
    <Box height={1}>
      <Box flexShrink={0}>
        <Tint tone="asks" inverse>
          {count === 1 ? ' approval ' : ` approval ${index + 1}/${count} `}
        </Tint>
        <Text>{isNarrow ? ' ' : ` [${kind}] `}</Text>
      </Box>
      <Box flexShrink={1} flexGrow={1} minWidth={8}>
        <Text bold wrap="truncate-end">
          {oneLine(title)}
        </Text>
      </Box>
      <Box flexShrink={0}>
        <Tint tone="faint">{isNarrow ? '' : ` ${session_id.slice(-8)}`}</Tint>
        <Tint tone="asks">{isNarrow ? ' a d' : '  a approve  d decline'}</Tint>
      </Box>
    </Box>
  );
}
