import { Text } from 'ink';
import type { ReactNode } from 'react';
import { Bar } from '../bar.tsx';
import { ago } from '../../terminal/time.ts';
import { ConnectionStatus } from '../connection-status.tsx';
import { listTabs } from '../list/sections.ts';
import type { NodeState } from '../overview-store.ts';
import { useNow, useObservable } from '../react-hooks.ts';
import { StyledText } from '../styled-text.tsx';
import type { ScreenContext } from './screen-context.ts';
import type { ScreenState } from './screen-state.ts';

/** The first line: the tabs with the number of their items, and the state of the connection. */
export function Header({ shown }: { shown: ScreenState }): ReactNode {
  const { view, marks, context, columns } = shown;
  const marked = marks.items.length;
  return (
    <Bar
      left={
        <Text wrap="truncate-end">
          <Text bold>{columns < 72 ? 'cadre' : 'cadre '}</Text>
          {listTabs.map((tab, i) => {
            const isChosen = tab === view.tab;
            const name = columns < 72 && !isChosen ? '' : `${capitalized(tab)} `;
            const gap = columns < 72 ? '' : ' ';
            const isCalling = tab === 'needs you' && view.counts[tab] > 0;
            return (
              <Text key={tab}>
                <StyledText tone="faint">{` ${i + 1}:`}</StyledText>
                <StyledText tone={isCalling ? 'asks' : isChosen ? 'name' : 'faint'} bold={isChosen}>
                  {`${name}${view.counts[tab]}${gap}`}
                </StyledText>
              </Text>
            );
          })}
          {view.order !== 'stable' && <StyledText tone="faint">{` by ${view.order}`}</StyledText>}
        </Text>
      }
      right={
        <>
          {marked > 0 && <StyledText tone="asks">{`${marked} marked  `}</StyledText>}
          <Health context={context} />
        </>
      }
    />
  );
}

function capitalized(name: string): string {
  return name.charAt(0).toUpperCase() + name.slice(1);
}

/** The state of the connection; where the server is not well, its own word for that. */
function Health({ context: { overviewStore, clock } }: { context: ScreenContext }): ReactNode {
  const connection = useObservable(overviewStore.connection);
  const server = useObservable(overviewStore.server);
  const nodes = useObservable(overviewStore.nodes);
  const now = useNow(
    clock,
    connection.state === 'lost' || nodes.some(({ since }) => since !== null),
  );
  if (nodes.length > 0) return <NodesHealth nodes={nodes} now={now} />;
  const status = server?.health.status ?? 'ok';
  if (connection.state === 'live' && status !== 'ok')
    return (
      <StyledText tone="bad" bold>
        {status}
      </StyledText>
    );
  return <ConnectionStatus connection={connection} now={now} />;
}

/** How several servers are, in a few words: the one that is not well, or how many of them are. */
function NodesHealth({ nodes, now }: { nodes: readonly NodeState[]; now: number }): ReactNode {
  const isIll = ({ server }: NodeState) => server !== null && server.health.status !== 'ok';
  const away = nodes.filter(({ state }) => state === 'away');
  const ill = nodes.filter(isIll);
  const [first] = [...away, ...ill];
  const live = nodes.filter(({ state }) => state === 'live').length;
  if (!first)
    return live < nodes.length ? (
      <StyledText tone="faint">{`loading ${live}/${nodes.length}`}</StyledText>
    ) : (
      <StyledText tone="good">{`${live} live`}</StyledText>
    );
  const since = first.since === null ? '' : ` ${ago(now - first.since)}`;
  const what = first.since === null ? first.server?.health.status : 'unreachable';
  const text =
    away.length > 1
      ? `${away.length} of ${nodes.length} unreachable`
      : `${first.name} ${what}${since}`;
  return (
    <StyledText tone="bad" bold>
      {text}
    </StyledText>
  );
}
