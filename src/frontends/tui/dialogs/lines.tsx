import { Box, Text } from 'ink';
import type { ReactNode } from 'react';

interface LinesProps {
  lines: readonly string[];
  top?: number;
  height?: number;
}

/** The lines from `top` on that fit into `height`. The lines may contain colours, and have to fit the width. */
export function Lines({ lines, top = 0, height = lines.length }: LinesProps): ReactNode {
  const shown = lines.slice(top, top + height).map((line, i) => ({ at: top + i, line }));
  return (
    <Box flexDirection="column" height={height} flexShrink={0} overflow="hidden">
      {shown.map(({ at, line }) => (
        <Box key={at} height={1} flexShrink={0}>
          <Text wrap="truncate-end">{line === '' ? ' ' : line}</Text>
        </Box>
      ))}
    </Box>
  );
}
