import { Box, Text } from 'ink';
import type { ReactNode } from 'react';
import { Tint } from './tint.tsx';

export type Keys = readonly (readonly [keys: string, meaning: string])[];

/** The keys and their meanings. */
export function Help({ keys, rows }: { keys: Keys; rows: number }): ReactNode {
  const width = Math.max(...keys.map(([key]) => key.length)) + 2;
  return (
    <Box flexDirection="column" height={rows} overflow="hidden">
      {keys.map(([key, meaning]) => (
        <Box key={key} height={1} flexShrink={0}>
          <Box width={width} flexShrink={0}>
            <Tint tone="name">{key}</Tint>
          </Box>
          <Text wrap="truncate-end">{meaning}</Text>
        </Box>
      ))}
    </Box>
  );
}
