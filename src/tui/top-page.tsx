import { Box, Text } from 'ink';
import { type ReactNode, useState } from 'react';
import type { Diagnostics } from '../api/runtime.ts';
import type { EventScope } from '../client/replay.ts';
import type { Clock } from '../lib/clock.ts';
import { describeResolved } from './approval-answer.tsx';
import { Bar } from './bar.tsx';
import type { Desk } from './desk.ts';
import { duration } from './duration.ts';
import { Help } from './help.tsx';
import { useNotice, useNow, useResolved, useSource } from './hooks.ts';
import { Link } from './link.tsx';
import { Tint } from './tint.tsx';
import { type Layer, TopFoot } from './top-foot.tsx';
import { topKeys } from './top-help.ts';
import { useTopKeys } from './top-keys.ts';
import { TopLine } from './top-line.tsx';
import { choicesOf, type Line, linesAround, linesOf } from './top-lines.ts';

export interface TopPageProps {
  desk: Desk;
  clock: Clock;
  url: string;
  rows: number;
  columns: number;
  /** Shows the events of a scope. */
  onOpen: (scope: EventScope) => void;
  onLeave: () => void;
}

const lines: Layer = { name: 'lines' };

/** The overview: the server, the approvals that wait, the sessions and the processes. */
export function TopPage(props: TopPageProps): ReactNode {
  const { desk, clock, url, rows, columns, onOpen, onLeave } = props;
  const overview = useSource(desk.overview);
  const connection = useSource(desk.connection);
  const now = useNow(clock);
  const { notice, tell, attempt } = useNotice();
  const [layer, setLayer] = useState<Layer>(lines);
  const { server } = overview;
  const all = linesOf(overview);
  const choices = choicesOf(all);
  const height = Math.max(1, rows - 3);

  useResolved(desk, (resolved) => {
    tell(describeResolved(resolved));
    setLayer((at) => (at.name === 'answer' && at.answer.approval.id === resolved.id ? lines : at));
  });
  const keys = { choices, desk, height, layer, setLayer, tell, onOpen, onLeave };
  const chosen = useTopKeys(keys);

  return (
    <Box flexDirection="column" width={columns} height={rows}>
      <Bar
        left={
          <Text wrap="truncate-end">
            <Text bold>cadre top</Text> {url}
          </Text>
        }
        right={<Link connection={connection} now={now} />}
      />
      {server ? <Figures server={server} /> : <Text> </Text>}
      {layer.name === 'help' ? (
        <Help keys={topKeys} rows={height} />
      ) : (
        <Box flexDirection="column" height={height} overflow="hidden">
          {server && all.length === 0 && (
            <Tint tone="faint">no session is open: cadre run "say hello" opens one</Tint>
          )}
          <Lines
            lines={linesAround(all, chosen?.key, height)}
            chosen={chosen?.key}
            columns={columns}
            now={now}
          />
        </Box>
      )}
      <TopFoot
        {...{ layer, chosen, connection, desk, notice, attempt }}
        onBack={() => setLayer(lines)}
      />
    </Box>
  );
}

/** The server's diagnostics, as of the last poll. */
function Figures({ server }: { server: Diagnostics }): ReactNode {
  const { health, memory, streams, storage } = server;
  const figures = [
    health.version,
    `up ${duration(health.uptime_ms)}`,
    `${Math.round(memory.rss_bytes / 1024 ** 2)} MiB`,
    `${streams.followers} streams`,
    `${storage.latest_seq} events`,
  ];
  return (
    <Text wrap="truncate-end">
      <Tint tone={health.status === 'ok' ? 'good' : 'bad'}>{health.status}</Tint>{' '}
      {figures.join('  ')}
    </Text>
  );
}

interface LinesProps {
  lines: readonly Line[];
  chosen: string | undefined;
  columns: number;
  now: number;
}

function Lines({ lines, chosen, columns, now }: LinesProps): ReactNode {
  return lines.map((line) => (
    <TopLine
      key={'heading' in line ? line.heading : line.key}
      line={line}
      isChosen={'key' in line && line.key === chosen}
      columns={columns}
      now={now}
    />
  ));
}
