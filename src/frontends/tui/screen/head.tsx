import { Text } from 'ink';
import type { ReactNode } from 'react';
import type { Clock } from '../../../core/lib/clock.ts';
import { Bar } from '../bar.tsx';
import type { Desk } from '../desk.ts';
import { useNow, useSource } from '../hooks.ts';
import { Link } from '../link.tsx';
import { NodesHealth } from './nodes-health.tsx';
import type { BoardView } from '../list/board.ts';
import { lenses } from '../list/sections.ts';
import { Tint } from '../tint.tsx';

/** The first line: the lenses with how much each shows, and the state of the connection. */
export function Head({
  view,
  desk,
  clock,
  columns,
}: {
  view: BoardView;
  desk: Desk;
  clock: Clock;
  columns: number;
}): ReactNode {
  return (
    <Bar
      left={
        <Text wrap="truncate-end">
          <Text bold>cadre </Text>
          {lenses.map((lens, i) => {
            const isChosen = lens === view.lens;
            const name = columns < 72 && !isChosen ? '' : `${lens} `;
            const gap = columns < 72 ? '' : ' ';
            const isCalling = lens === 'needs me' && view.counts[lens] > 0;
            return (
              <Text key={lens}>
                <Tint tone="faint">{` ${i + 1}:`}</Tint>
                <Tint tone={isCalling ? 'asks' : isChosen ? 'name' : 'faint'} bold={isChosen}>
                  {`${name}${view.counts[lens]}${gap}`}
                </Tint>
              </Text>
            );
          })}
          {view.order === 'attention' && <Tint tone="faint"> by attention</Tint>}
        </Text>
      }
      right={<Health desk={desk} clock={clock} />}
    />
  );
}

/** The state of the connection; where the server is not well, its own word for that. */
function Health({ desk, clock }: { desk: Desk; clock: Clock }): ReactNode {
  const connection = useSource(desk.connection);
  const server = useSource(desk.server);
  const nodes = useSource(desk.nodes);
  const now = useNow(
    clock,
    connection.state === 'lost' || nodes.some(({ since }) => since !== null),
  );
  if (nodes.length > 0) return <NodesHealth nodes={nodes} now={now} />;
  const status = server?.health.status ?? 'ok';
  if (connection.state === 'live' && status !== 'ok')
    return (
      <Tint tone="bad" bold>
        {status}
      </Tint>
    );
  return <Link connection={connection} now={now} />;
}
