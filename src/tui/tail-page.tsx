import { Box, Text } from 'ink';
import { type ReactNode, useState } from 'react';
import type { RuntimeEventRecord } from '../api/events.ts';
import { describeGap } from '../client/telling.ts';
import type { Clock } from '../lib/clock.ts';
import { AnswerPrompt, type Asking, describeResolved, obstacle } from './asking.tsx';
import { Bar } from './bar.tsx';
import type { Desk } from './desk.ts';
import { Detail } from './detail.tsx';
import { EventRow } from './event-row.tsx';
import { Help, type Keys } from './help.tsx';
import { useNotice, useNow, useResolved, useSource } from './hooks.ts';
import { readKinds } from './kinds.ts';
import { useKeys } from './keyboard.ts';
import { Link } from './link.tsx';
import { Prompt } from './prompt.tsx';
import { describeScope, narrowed, scopes, widened } from './scope.ts';
import { foundNext, matchCount, moved, paused, searching, selectedRow, visible } from './state.ts';
import type { View } from './state.ts';
import type { Tail } from './tail.ts';
import { Tint } from './tint.tsx';
import { Told } from './told.tsx';
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

/** What is in front of the list. */
type Layer =
  | { name: 'list' | 'help' | 'search' | 'filter' }
  | { name: 'detail'; event: RuntimeEventRecord | null }
  | { name: 'answer'; asking: Asking };

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
  const filter = (text: string) => {
    setLayer(list);
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
  const back = () => setLayer(list);
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
        <Help keys={keys} rows={height} />
      ) : layer.name === 'detail' ? (
        <Detail key={layer.event?.seq} event={layer.event} rows={height} columns={columns} />
      ) : (
        <Rows view={view} isLive={connection.state === 'live'} height={height} columns={columns} />
      )}
      {approval && (
        <Waiting approval={approval} index={index} count={waiting.length} columns={columns} />
      )}
      {layer.name === 'search' ? (
        <Prompt
          question="/"
          initial={view.search}
          onCancel={back}
          onAnswer={(text) => {
            back();
            go((at) => searching(at, text, height));
          }}
        />
      ) : layer.name === 'filter' ? (
        <Prompt
          question="kinds (turn, tool.completed …; none: all):"
          initial={scope.kinds?.join(' ') ?? ''}
          onCancel={back}
          onAnswer={filter}
        />
      ) : layer.name === 'answer' ? (
        <AnswerPrompt asking={layer.asking} desk={desk} attempt={attempt} onDone={back} />
      ) : (
        <Bar
          left={<Told notice={notice} connection={connection} otherwise={footOf(view, url)} />}
          right={<Tint tone="faint">{layer.name === 'list' ? '? help  q quit' : 'esc back'}</Tint>}
        />
      )}
    </Box>
  );
}

/** The rows that fit; empty lines below the last one. */
function Rows({
  view,
  isLive,
  height,
  columns,
}: {
  view: View;
  isLive: boolean;
  height: number;
  columns: number;
}): ReactNode {
  const { rows, cursor } = visible(view, height);
  return (
    <Box flexDirection="column" height={height} overflow="hidden">
      {rows.length === 0 && isLive && (
        <Tint tone="faint">nothing yet: what happens is shown here</Tint>
      )}
      {rows.map((row, i) => (
        <EventRow
          key={row.key}
          row={row}
          columns={columns}
          isSelected={i === cursor && !view.follows}
          search={view.search}
        />
      ))}
    </Box>
  );
}

function footOf(view: View, url: string): string {
  const { search, gap, seq, rows, hasStart } = view;
  const found = search === '' ? [] : [`"${search}" in ${matchCount(view)} of ${rows.length}`];
  const hole = gap ? [`gap: ${describeGap(gap)}`] : [];
  const read = `${hasStart ? 'all ' : ''}${rows.length} rows`;
  return [...hole, ...found, `seq ${seq}`, read, url].join('  ');
}

const keys: Keys = [
  ['up down j k', 'to another event; stops following'],
  ['pgup pgdn', 'a page; older ones are read when you come to the top'],
  ['g home, G end', 'to the first that was read; to the end, and follow it'],
  ['space', 'pause: nothing moves, what is new is counted; again: follow'],
  ['enter', 'all of an event; left and right: the one before, the one after'],
  ['/ n N', 'look for a text; the one before it; the one after it; esc: no more'],
  ['f', 'only some kinds, such as: turn tool.completed'],
  ...scopes.map(({ key, noun }) => [key, `only the ${noun} of this event`] as const),
  ['e', 'everything again'],
  ['a d', 'accept, decline what waits, with a reason if you like'],
  ['tab', 'the next that waits'],
  ['q ctrl-c', 'leave'],
];
