import { Box, Text } from 'ink';
import type { ReactNode } from 'react';

/** Lines from `top` on, as many as there is room for. They may contain colours, and are no wider than the room. */
export function Lines({
  lines,
  top,
  height,
}: {
  lines: readonly string[];
  top: number;
  height: number;
}): ReactNode {
  return (
    <Box flexDirection="column" height={height} flexShrink={0} overflow="hidden">
      {lines.slice(top, top + height).map((line, i) => (
        <Box key={top + i} height={1} flexShrink={0}>
          <Text wrap="truncate-end">{line === '' ? ' ' : line}</Text>
        </Box>
      ))}
    </Box>
  );
}
