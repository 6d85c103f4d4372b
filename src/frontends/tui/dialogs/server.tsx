import { Box, Text } from 'ink';
import type { ReactNode } from 'react';
import type { Diagnostics } from '../../../api/runtime.ts';
import { ago } from '../../terminal/time.ts';
import { useKeys } from '../keyboard.ts';
import type { NodeState } from '../overview-store.ts';
import { useObservable } from '../react-hooks.ts';
import type { DialogProps } from '../screen/screen-context.ts';
import { StyledText } from '../styled-text.tsx';

/** How the server is, or each of several, as of the last poll. */
export function ServerDialog({ context, rows, onLeave }: DialogProps): ReactNode {
  const { overviewStore, client } = context;
  const server = useObservable(overviewStore.server);
  const nodes = useObservable(overviewStore.nodes);
  useKeys({ escape: onLeave, return: onLeave, q: onLeave, v: onLeave });
  if (nodes.length > 0) return <Nodes nodes={nodes} rows={rows} />;
  return (
    <Box flexDirection="column" height={rows} overflow="hidden">
      {[['server', client.url] as const, ...(server ? figuresOf(server) : [])].map(
        ([name, figure]) => (
          <Text key={name} wrap="truncate-end">
            <StyledText tone="name">{name.padEnd(9)}</StyledText>
            {figure}
          </Text>
        ),
      )}
    </Box>
  );
}

function Nodes({ nodes, rows }: { nodes: readonly NodeState[]; rows: number }): ReactNode {
  const width = Math.max(...nodes.map(({ name }) => name.length)) + 2;
  return (
    <Box flexDirection="column" height={rows} overflow="hidden">
      {nodes.map(({ name, url, state, detail, server }) => (
        <Text key={name} wrap="truncate-end">
          <StyledText tone={state === 'away' ? 'bad' : 'name'}>{name.padEnd(width)}</StyledText>
          {server ? figuresOf(server).map(figureText).join('  ') : (detail ?? state)}
          <StyledText tone="faint">{server ? `  ${url}` : ''}</StyledText>
        </Text>
      ))}
    </Box>
  );
}

function figureText([name, figure]: readonly [name: string, figure: string]): string {
  return name === 'status' ? figure : `${name} ${figure}`;
}

function figuresOf({ health, memory, streams, storage }: Diagnostics) {
  return [
    ['status', health.status],
    ['version', health.version],
    ['uptime', ago(health.uptime_ms)],
    ['memory', `${Math.round(memory.rss_bytes / 1024 ** 2)} MiB`],
    ['streams', String(streams.followers)],
    ['events', String(storage.latest_seq)],
  ] as const;
}
