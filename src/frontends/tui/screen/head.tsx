import { Text } from 'ink';
import type { ReactNode } from 'react';
import type { Clock } from '../../../core/lib/clock.ts';
import { Bar } from '../bar.tsx';
import type { OverviewStore } from '../overview-store.ts';
import { useNow, useSource } from '../react-hooks.ts';
import { Link } from '../link.tsx';
import { NodesHealth } from './nodes-health.tsx';
import type { ListView } from '../list/list-state.ts';
import { lenses } from '../list/sections.ts';
import { Tint } from '../tint.tsx';

/** The first line: the lenses with how much each shows, and the state of the connection. */
export function Head({
  view,
  marked,
  overviewStore,
  clock,
  columns,
}: {
  view: ListView;
  /** How many rows are marked. */
  marked: number;
  overviewStore: OverviewStore;
  clock: Clock;
  columns: number;
}): ReactNode {
  return (
    <Bar
      left={
        <Text wrap="truncate-end">
          <Text bold>{columns < 72 ? 'cadre' : 'cadre '}</Text>
          {lenses.map((lens, i) => {
            const isChosen = lens === view.lens;
            const name = columns < 72 && !isChosen ? '' : `${capitalized(lens)} `;
            const gap = columns < 72 ? '' : ' ';
            const isCalling = lens === 'needs you' && view.counts[lens] > 0;
            return (
              <Text key={lens}>
                <Tint tone="faint">{` ${i + 1}:`}</Tint>
                <Tint tone={isCalling ? 'asks' : isChosen ? 'name' : 'faint'} bold={isChosen}>
                  {`${name}${view.counts[lens]}${gap}`}
                </Tint>
              </Text>
            );
          })}
          {view.order !== 'stable' && <Tint tone="faint">{` by ${view.order}`}</Tint>}
        </Text>
      }
      right={
        <>
          {marked > 0 && <Tint tone="asks">{`${marked} marked  `}</Tint>}
          <Health overviewStore={overviewStore} clock={clock} />
        </>
      }
    />
  );
}

function capitalized(name: string): string {
  return name.charAt(0).toUpperCase() + name.slice(1);
}

/** The state of the connection; where the server is not well, its own word for that. */
function Health({
  overviewStore,
  clock,
}: {
  overviewStore: OverviewStore;
  clock: Clock;
}): ReactNode {
  const connection = useSource(overviewStore.connection);
  const server = useSource(overviewStore.server);
  const nodes = useSource(overviewStore.nodes);
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
