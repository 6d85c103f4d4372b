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
