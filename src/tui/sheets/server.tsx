import { Box, Text } from 'ink';
import type { ReactNode } from 'react';
import type { Diagnostics } from '../../api/runtime.ts';
import type { Desk } from '../desk.ts';
import { duration } from '../duration.ts';
import { useSource } from '../hooks.ts';
import { useKeys } from '../keyboard.ts';
import { Tint } from '../tint.tsx';

/** How the server is, as of the last poll. */
export function ServerSheet({
  desk,
  url,
  rows,
  onLeave,
}: {
  desk: Desk;
  url: string;
  rows: number;
  columns: number;
  onLeave: () => void;
}): ReactNode {
  const server = useSource(desk.server);
  useKeys({ escape: onLeave, return: onLeave, q: onLeave, v: onLeave });
  return (
    <Box flexDirection="column" height={rows} overflow="hidden">
      {[['server', url] as const, ...(server ? figuresOf(server) : [])].map(([name, figure]) => (
        <Text key={name} wrap="truncate-end">
          <Tint tone="name">{name.padEnd(9)}</Tint>
          {figure}
        </Text>
      ))}
    </Box>
  );
}

function figuresOf({ health, memory, streams, storage }: Diagnostics) {
  return [
    ['status', health.status],
    ['version', health.version],
    ['up', duration(health.uptime_ms)],
    ['memory', `${Math.round(memory.rss_bytes / 1024 ** 2)} MiB`],
    ['streams', String(streams.followers)],
    ['events', String(storage.latest_seq)],
  ] as const;
}
