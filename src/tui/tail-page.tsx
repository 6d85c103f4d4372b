import { Box, Text } from 'ink';
import { type ReactNode, useState } from 'react';
import type { Clock } from '../lib/clock.ts';
import { type Asking, describeResolved, obstacle } from './asking.tsx';
import { Bar } from './bar.tsx';
import type { Desk } from './desk.ts';
import { Detail } from './detail.tsx';
import { EventList } from './event-list.tsx';
import { Help } from './help.tsx';
import { useNotice, useNow, useResolved, useSource } from './hooks.ts';
import { useKeys } from './keyboard.ts';
import { readKinds } from './kinds.ts';
import { Link } from './link.tsx';
import { describeScope, narrowed, scopes, widened } from './scope.ts';
import { foundNext, moved, paused, searching, selectedRow, type View, visible } from './state.ts';
import type { Tail } from './tail.ts';
import { type Layer, TailFoot } from './tail-foot.tsx';
import { tailKeys } from './tail-help.ts';
import { Tint } from './tint.tsx';
import { Waiting } from './waiting.tsx';

export interface TailPageProps {
  tail: Tail;
  desk: Desk;
  clock: Clock;
  url: string;
  rows: number;
  columns: number;
  /** Leaves the page; of the first one, the program. */
  onLeave: () => void;
}

const list: Layer = { name: 'list' };

/** The events of a scope, and what a person does about them. */
export function TailPage(props: TailPageProps): ReactNode {
  const { tail, desk, clock, url, rows, columns, onLeave } = props;
  const view = useSource(tail.view);
  const scope = useSource(tail.scope);
  const connection = useSource(tail.connection);
  const { approvals } = useSource(desk.overview);
  const now = useNow(clock);
  const { notice, tell, attempt } = useNotice();
  const [layer, setLayer] = useState<Layer>(list);
  const [turn, setTurn] = useState(0);
  const waiting = [...approvals.values()];
  const index = waiting.length > 0 ? turn % waiting.length : 0;
  const approval = waiting[index];
  const height = Math.max(1, rows - (approval ? 3 : 2));

  useResolved(desk, (resolved) => {
    tell(describeResolved(resolved));
    setLayer((at) => (at.name === 'answer' && at.asking.approval.id === resolved.id ? list : at));
  });

  const go = (next: (view: View) => View) => {
    tell('');
    tail.view.change(next);
    const after = tail.view.get();
    if (visible(after, height).rows[0] === after.rows[0]) attempt(tail.older());
  };
  const step = (by: number) => () => go((at) => moved(at, by, height));
  const showDetail = () => {
    const row = selectedRow(tail.view.get());
    if (!row) return;
    attempt(tail.record(row.last).then((event) => setLayer({ name: 'detail', event })));
  };
  const stepDetail = (by: number) => () => {
    step(by)();
    showDetail();
  };
  const narrow = (wanted: (typeof scopes)[number]) => () => {
    const row = selectedRow(view);
    const next = row && narrowed(scope, wanted, row);
    if (next) tail.open(next);
    else tell(`this event has no ${wanted.noun}`);
  };
  const ask = (decision: Asking['decision']) => () => {
    if (!approval) return tell('nothing waits for an answer');
    const asking = { approval, decision };
    const why = obstacle(asking);
    if (why === null) setLayer({ name: 'answer', asking });
    else tell(why);
  };
  const back = () => setLayer(list);
  const search = (text: string) => {
    back();
    go((at) => searching(at, text, height));
  };
  const filter = (text: string) => {
    back();
    const { kinds, unknown } = readKinds(text);
    if (unknown === null) tail.open({ ...scope, kinds });
    else tell(unknown);
  };

  useKeys(
    {
      upArrow: step(-1),
      k: step(-1),
      downArrow: step(1),
      j: step(1),
      pageUp: step(1 - height),
      pageDown: step(height - 1),
      home: step(-view.rows.length),
      g: step(-view.rows.length),
      end: () => tail.toEnd(),
      G: () => tail.toEnd(),
      ' ': () => (view.follows ? go((at) => paused(at, height)) : tail.toEnd()),
      return: showDetail,
      '/': () => setLayer({ name: 'search' }),
      n: () => go((at) => foundNext(at, -1, height)),
      N: () => go((at) => foundNext(at, 1, height)),
      f: () => setLayer({ name: 'filter' }),
      e: () => tail.open(widened(scope)),
      ...Object.fromEntries(scopes.map((one) => [one.key, narrow(one)])),
      a: ask('accept'),
      d: ask('decline'),
      tab: () => setTurn(index + 1),
      '?': () => setLayer({ name: 'help' }),
      q: onLeave,
      escape: () => (view.search === '' ? tell('') : go((at) => searching(at, '', height))),
    },
    layer.name === 'list',
  );
  useKeys(
    { escape: back, return: back, q: back, leftArrow: stepDetail(-1), rightArrow: stepDetail(1) },
    layer.name === 'detail',
  );
  useKeys({ escape: back, return: back, q: back, '?': back }, layer.name === 'help');

  return (
    <Box flexDirection="column" width={columns} height={rows}>
      <Bar
        left={
          <Text wrap="truncate-end">
            <Text bold>cadre events</Text> {describeScope(scope)}
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
      {layer.name === 'help' ? (
        <Help keys={tailKeys} rows={height} />
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
      {approval && (
        <Waiting approval={approval} index={index} count={waiting.length} columns={columns} />
      )}
      <TailFoot
        layer={layer}
        view={view}
        scope={scope}
        connection={connection}
        desk={desk}
        url={url}
        notice={notice}
        attempt={attempt}
        onSearch={search}
        onFilter={filter}
        onBack={back}
      />
    </Box>
  );
}
