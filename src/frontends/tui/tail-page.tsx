import { Box, Text } from 'ink';
import { type ReactNode, useEffect, useState } from 'react';
import { endpoints } from '../../api/index.ts';
import type { Session } from '../../api/sessions.ts';
import type { Client } from '../../client/client.ts';
import type { EventScope } from '../../client/event-scope.ts';
import type { Clock } from '../../core/lib/clock.ts';
import { describeResolved } from './approval-answer.ts';
import { Bar } from './bar.tsx';
import { Detail } from './detail.tsx';
import { EventList } from './event-list.tsx';
import type { Connection } from './follow.ts';
import { Help } from './help.tsx';
import { useNotice, useNow, useResolved, useSource } from './react-hooks.ts';
import { Link } from './link.tsx';
import { noticeLines } from './notice.tsx';
import type { Overview } from './overview.ts';
import { describeScope } from './scope.ts';
import type { ScreenContext } from './screen/screen-context.ts';
import { ApprovalDialog } from './dialogs/approval.tsx';
import type { View } from './state.ts';
import type { Tail } from './tail.ts';
import { type Layer, rightOf, TailFoot } from './tail-foot.tsx';
import { tailKeys } from './tail-help.ts';
import { useTailKeys } from './tail-keys.ts';
import { Tint } from './tint.tsx';
import { Waiting } from './waiting.tsx';

export interface TailPageProps {
  tail: Tail;
  place: ScreenContext;
  rows: number;
  columns: number;
  /** Leaves the page; on the first page, the program. */
  onLeave: () => void;
}

const list: Layer = { name: 'list' };

/** The events of a scope, with the approvals that wait. */
export function TailPage(props: TailPageProps): ReactNode {
  const { tail, place, rows, columns, onLeave } = props;
  const { overviewStore, acts, clock, client } = place;
  const view = useSource(tail.view);
  const scope = useSource(tail.scope);
  const connection = useSource(tail.connection);
  const { approvals, sessions } = useSource(overviewStore.overview);
  const title = useTitle(client, scope.sessionId, sessions);
  const notices = useNotice(clock, overviewStore);
  const { notice, tell, attempt } = notices;
  const [layer, setLayer] = useState<Layer>(list);
  const [turn, setTurn] = useState(0);
  const waiting = [...approvals.values()];
  const index = waiting.length > 0 ? turn % waiting.length : 0;
  const approval = waiting[index];
  const said = noticeLines({ notice, connection }, { columns, beside: rightOf(layer.name).length });
  const height = Math.max(1, rows - (approval ? 2 : 1) - Math.max(1, said.length));

  useResolved(overviewStore, (resolved) => {
    tell(describeResolved(resolved, acts.isMine(resolved.id)));
    setLayer((at) => (at.name === 'sheet' && at.asked.approval.id === resolved.id ? list : at));
  });
  const onNextApproval = () => setTurn(index + 1);
  const shown = { tail, view, scope, height, layer, setLayer, approval };
  const keys = { ...shown, tell, attempt, onNextApproval, onLeave };
  const { back, search, filter } = useTailKeys(keys);

  return (
    <Box flexDirection="column" width={columns} height={rows}>
      <TailHead node={tail.node} {...{ scope, title, view, connection, clock }} />
      {layer.name === 'help' ? (
        <Help keys={tailKeys} rows={height} columns={columns} onLeave={back} />
      ) : layer.name === 'sheet' ? (
        <ApprovalDialog
          key={layer.asked.approval.id}
          asked={layer.asked}
          acts={acts}
          rows={rows - 1}
          columns={columns}
          notices={notices}
          onDone={back}
        />
      ) : layer.name === 'detail' ? (
        <Detail key={layer.event?.seq} event={layer.event} rows={height} columns={columns} />
      ) : (
        <EventList
          view={view}
          isLive={connection.state === 'live'}
          height={height}
          columns={columns}
        />
      )}
      {approval && layer.name !== 'sheet' && (
        <Waiting approval={approval} index={index} count={waiting.length} columns={columns} />
      )}
      <TailFoot
        {...{ layer, view, scope, said, columns }}
        url={client.url}
        onSearch={search}
        onFilter={filter}
        onBack={back}
      />
    </Box>
  );
}

/** The title of a session; null until it is read. Sessions are not listed if this page is the first one. */
function useTitle(
  client: Client,
  id: string | undefined,
  sessions: Overview['sessions'],
): string | null {
  const [read, setRead] = useState<Pick<Session, 'id' | 'title'> | null>(null);
  const listed = sessions.get(id ?? '')?.session;
  const isListed = listed !== undefined;
  useEffect(() => {
    if (id === undefined || isListed) return;
    const params = { session_id: id };
    // The stream reports a session that does not exist.
    client.call(endpoints.getSession, { params }).then(setRead, () => undefined);
  }, [client, id, isListed]);
  return listed?.title ?? (read?.id === id ? (read?.title ?? null) : null);
}

interface TailHeadProps {
  node: string | undefined;
  scope: EventScope;
  /** The title of the session of the scope, if it is known. */
  title: string | null;
  view: View;
  connection: Connection;
  clock: Clock;
}

/** The first line: the scope, whether the list is paused, and the state of the connection. */
function TailHead(props: TailHeadProps): ReactNode {
  const { node, scope, title, view, connection, clock } = props;
  const now = useNow(clock);
  return (
    <Bar
      left={
        <Text wrap="truncate-end">
          <Text bold>cadre events</Text> {describeScope(scope, title)}
          {node === undefined ? '' : ` on ${node}`}
        </Text>
      }
      right={
        <Text>
          {!view.follows && (
            <Tint tone="asks">{`paused${view.unseen > 0 ? `, ${view.unseen} new` : ''}  `}</Tint>
          )}
          <Link connection={connection} now={now} />
        </Text>
      }
    />
  );
}
