import { Box } from 'ink';
import type { ReactNode } from 'react';

/** A line with something at its left, cut where it must be, and something at its right. */
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
