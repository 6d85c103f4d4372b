import { Box } from 'ink';
import type { ReactNode } from 'react';

/** A line, or several, with a left part, which is cut where it is too long, and a right part. */
export function Bar({
  left,
  right,
  rows = 1,
}: {
  left: ReactNode;
  right: ReactNode;
  rows?: number;
}): ReactNode {
  return (
    <Box height={rows} flexShrink={0} justifyContent="space-between" columnGap={1}>
      <Box flexShrink={1} flexGrow={1} minWidth={0}>
        {left}
      </Box>
      <Box flexShrink={0}>{right}</Box>
    </Box>
  );
}
