import { Box } from 'ink';
import type { ReactNode } from 'react';

/** A line with a left part, which is cut where it is too long, and a right part. */
export function Bar({ left, right }: { left: ReactNode; right: ReactNode }): ReactNode {
  return (
    <Box height={1} justifyContent="space-between" columnGap={1}>
      <Box flexShrink={1} flexGrow={1} minWidth={0}>
        {left}
      </Box>
      <Box flexShrink={0}>{right}</Box>
    </Box>
  );
}
