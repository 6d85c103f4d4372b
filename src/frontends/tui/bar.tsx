import { Box } from 'ink';
import type { ReactNode } from 'react';
import { StyledText } from './styled-text.tsx';

interface BarProps {
  left: ReactNode;
  /** A string is faint. */
  right: ReactNode;
  rows?: number;
}

/** A line, or several, with a left part, which is cut where it is too long, and a right part. */
export function Bar({ left, right, rows = 1 }: BarProps): ReactNode {
  return (
    <Box height={rows} flexShrink={0} justifyContent="space-between" columnGap={1}>
      <Box flexShrink={1} flexGrow={1} minWidth={0}>
        {left}
      </Box>
      <Box flexShrink={0}>
        {typeof right === 'string' ? <StyledText tone="faint">{right}</StyledText> : right}
      </Box>
    </Box>
  );
}
