import { Box, Text } from 'ink';
import { type ReactNode, useContext, useEffect, useState } from 'react';
import type { Approval } from '../../../api/approvals.ts';
import type { RuntimeEventRecord } from '../../../api/events.ts';
import { endpoints } from '../../../api/index.ts';
import { describeGap, oneLine } from '../../../client/event-summary.ts';
import { plain } from '../../../core/lib/plain.ts';
import { wrapped } from '../../terminal/width.ts';
import { Bar } from '../bar.tsx';
import { ApprovalDialog, type Asked } from '../dialogs/approval.tsx';
import { Lines, useScroll } from '../dialogs/dialog.tsx';
import { Help, type Keys } from '../help.tsx';
import { type KeyTable, useKeys } from '../keyboard.ts';
import { ConnectionStatus } from '../connection-status.tsx';
import { Notice, noticeLines } from '../notice.tsx';
import { describeScope, readKinds, scopes } from '../panes/event-row.ts';
import type { EventModel } from '../panes/event-model.ts';
import { ReaderPane, searchText } from '../panes/pane.tsx';
import { Prompt } from '../prompt.tsx';
import { type Notices, useNotice, useNow, useResolved, useObservable } from '../react-hooks.ts';
import { Colors, StyledText } from '../styled-text.tsx';
import type { ScreenContext } from './screen-context.ts';

interface EventPageProps {
  model: EventModel;
  context: ScreenContext;
  rows: number;
  columns: number;
  /** Leaves the page; on the first page, the program. */
  onLeave: () => void;
}

/** The list of events, or a layer over it. */
type Layer =
  | { name: 'list' | 'help' | 'filter' }
  | { name: 'detail'; event: RuntimeEventRecord | null }
  | { name: 'approval'; asked: Asked };

const list: Layer = { name: 'list' };
const ignoreHold = () => undefined;

interface Page extends EventPageProps {
  notices: Notices;
  layer: Layer;
  setLayer: (layer: Layer) => void;
  back: () => void;
  /** The pending approval that the keys answer. */
  approval: Approval | undefined;
  showDetail: (by: number) => () => void;
}

/** The events of a scope, and the pending approvals. */
export function EventPage(props: EventPageProps): ReactNode {
  const { model, context, rows, columns } = props;
  const { overviewStore } = context;
  const palette = useContext(Colors);
  useObservable(model.reader.changes);
  const connection = useObservable(model.connection);
  const waiting = [...useObservable(overviewStore.overview).approvals.values()];
  const notices = useNotice(context.clock, overviewStore);
  const [layer, setLayer] = useState<Layer>(list);
  useResolved(context, notices.showNotice, (id) =>
    setLayer((at) => (at.name === 'approval' && at.asked.approval.id === id ? list : at)),
  );
  const [turn, setTurn] = useState(0);
  const index = waiting.length > 0 ? turn % waiting.length : 0;
  const approval = waiting[index];
  const showDetail = (by: number) => () => {
    if (by !== 0) model.reader.scroll(by);
    const row = model.selected();
    if (!row) return;
    notices.attempt(model.record(row.last).then((event) => setLayer({ name: 'detail', event })));
  };
  const back = () => setLayer(list);
  const page: Page = { ...props, notices, layer, setLayer, back, approval, showDetail };
  const right = layer.name === 'list' ? '? help  q quit' : 'esc back';
  const notice = noticeLines(
    { notice: notices.notice, connection },
    { columns, beside: right.length },
  );
  const footRows = Math.max(1, notice.length);
  const height = Math.max(1, rows - 1 - footRows - (approval ? 1 : 0));
  const status = (
    <Bar
      rows={footRows}
      left={<Notice lines={notice} hint={statusOf(model, context.client.url)} />}
      right={right}
    />
  );
  return (
    <Box flexDirection="column" width={columns} height={rows}>
      <Header model={model} context={context} />
      {layer.name === 'approval' ? (
        <ApprovalDialog
          key={layer.asked.approval.id}
          {...{ context, notices, columns, asked: layer.asked }}
          rows={rows - 1}
          onLeave={back}
        />
      ) : (
        <ReaderPane
          {...{ model, columns, palette }}
          rows={rows - 1}
          isFocused={layer.name === 'list'}
          showNotice={notices.showNotice}
          onHold={ignoreHold}
          onKey={() => notices.showNotice('')}
          keys={{ ...listKeys(page), tab: () => setTurn(index + 1) }}
          empty="No events yet"
          status=""
          footer={{
            rows: footRows,
            content: layer.name === 'filter' ? <FilterPrompt page={page} /> : status,
          }}
          aboveFooter={
            approval && <Waiting {...{ approval, index, columns }} count={waiting.length} />
          }
          overlay={overlayOf(page, height)}
        />
      )}
    </Box>
  );
}

function overlayOf({ layer, back, columns, showDetail }: Page, rows: number): ReactNode {
  const room = { rows, columns, onLeave: back };
  if (layer.name === 'help') return <Help {...room} keys={eventKeys} />;
  if (layer.name !== 'detail') return null;
  return <Detail {...room} event={layer.event} step={showDetail} />;
}

function FilterPrompt({ page }: { page: Page }): ReactNode {
  const { model, columns, notices, back } = page;
  const scope = model.scope.get();
  return (
    <Prompt
      columns={columns}
      question="Kinds (turn tool.completed; empty: all):"
      initial={scope.kinds?.join(' ') ?? ''}
      onCancel={back}
      onAnswer={(text) => {
        back();
        const { kinds, unknown } = readKinds(text);
        if (unknown === null) model.open({ ...scope, kinds });
        else notices.showNotice(unknown);
      }}
    />
  );
}

function listKeys({
  model,
  notices: { showNotice },
  approval,
  setLayer,
  showDetail,
  onLeave,
}: Page): KeyTable {
  const { reader } = model;
  const narrow = ({ owner, option, field }: (typeof scopes)[number]) => {
    const id = model.selected()?.[field];
    if (id) model.open({ kinds: model.scope.get().kinds, [option]: id });
    else showNotice(`this event has no ${owner}`);
  };
  const ask = (intent: Asked['intent']) => () => {
    if (approval) setLayer({ name: 'approval', asked: { approval, intent } });
    else showNotice('no pending approval');
  };
  return {
    ...Object.fromEntries(scopes.map((scope) => [scope.key, () => narrow(scope)])),
    ' ': () => (reader.follows.get() ? reader.select(reader.cursor) : reader.toEnd()),
    return: showDetail(0),
    f: () => setLayer({ name: 'filter' }),
    e: () => model.open({}),
    a: ask('accept'),
    d: ask('decline'),
    '?': () => setLayer({ name: 'help' }),
    q: onLeave,
  };
}

const eventKeys: Keys = [
  ['↑ ↓ k j', 'Previous event, next event; stops following'],
  ['pgup pgdn', 'Previous page, next page; at the top, older events are loaded'],
  ['g home, G end', 'First loaded event; last event, and follow new events'],
  ['space', 'Pause: count new events without scrolling; again: follow'],
  ['⏎', 'Show the whole event; ← → for the previous or next event'],
  ['/ n N', 'Search; previous match; next match; esc ends the search'],
  ['f', 'Filter by kind, for example turn tool.completed'],
  ...scopes.map(({ key, owner }) => [key, `Only the ${owner} of this event`] as const),
  ['e', 'All events'],
  ['a d', 'Show the pending approval, to approve or decline it'],
  ['tab', 'Next pending approval'],
  ['q ^C', 'Quit'],
  ['', ''],
  ['Symbols', ''],
  ['>', 'Selected event'],
  ['~ …', 'Text that is cut to fit'],
];

/** How much of the log was read, or what was found in it, and from which server. */
function statusOf(model: EventModel, url: string): string {
  const { gap, reader, seq } = model;
  const rows = model.coverage().slice('in '.length);
  const hole = gap ? [`gap: ${describeGap(gap)}`] : [];
  const found = reader.search === '' ? [`seq ${seq.get()}`, rows] : [searchText(model)];
  return [...hole, ...found, url].join('  ');
}

/** The first line: the scope, whether the list is paused, and the state of the connection. */
function Header({ model, context }: Pick<EventPageProps, 'model' | 'context'>): ReactNode {
  const scope = useObservable(model.scope);
  const title = useTitle(context, scope.sessionId);
  const now = useNow(context.clock);
  const { unseen, reader, node } = model;
  const paused = unseen > 0 ? `paused, ${unseen} new  ` : 'paused  ';
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
          <StyledText tone="asks">{reader.follows.get() ? '' : paused}</StyledText>
          <ConnectionStatus connection={useObservable(model.connection)} now={now} />
        </Text>
      }
    />
  );
}

/** The title of a session; null until it is read. Sessions are not listed if this page is the first one. */
function useTitle({ client, overviewStore }: ScreenContext, id: string | undefined): string | null {
  const [read, setRead] = useState<{ id: string; title: string | null } | null>(null);
  const listed = useObservable(overviewStore.overview).sessions.get(id ?? '')?.session;
  const isListed = listed !== undefined;
  useEffect(() => {
    if (id === undefined || isListed) return;
    // The stream reports a session that does not exist.
    client
      .call(endpoints.getSession, { params: { session_id: id } })
      .then(setRead, () => undefined);
  }, [client, id, isListed]);
  return listed?.title ?? (read?.id === id ? (read?.title ?? null) : null);
}

interface WaitingProps {
  approval: Approval;
  index: number;
  count: number;
  columns: number;
}

/** The pending approval that the keys answer, and the number of pending approvals. */
function Waiting({ approval, index, count, columns }: WaitingProps): ReactNode {
  const isNarrow = columns < 60;
  return (
    <Bar
      left={
        <Text wrap="truncate-end">
          <StyledText tone="asks" inverse>
            {count === 1 ? ' approval ' : ` approval ${index + 1}/${count} `}
          </StyledText>
          {isNarrow ? ' ' : ` [${approval.kind}] `}
          <Text bold>{oneLine(approval.title)}</Text>
        </Text>
      }
      right={
        <Text>
          <StyledText tone="faint">{isNarrow ? '' : approval.session_id.slice(-8)}</StyledText>
          <StyledText tone="asks">{isNarrow ? 'a d' : '  a approve  d decline'}</StyledText>
        </Text>
      }
    />
  );
}

const GONE =
  'This event was removed from the log. Streaming deltas are kept for a limited time. The event that ends the stream has the full text.';

interface DetailProps {
  /** Null for an event that has left the log. */
  event: RuntimeEventRecord | null;
  rows: number;
  columns: number;
  step: (by: number) => () => void;
  onLeave: () => void;
}

/** One event in full, scrollable: its text, then the record. */
function Detail({ event, rows, columns, step, onLeave }: DetailProps): ReactNode {
  const { faint } = useContext(Colors);
  const text = event && 'text' in event.payload ? event.payload.text : '';
  const written = typeof text === 'string' && text !== '' ? `${plain(text)}\n` : '';
  const record = event ? wrapped(plain(JSON.stringify(event, null, 2)), columns).map(faint) : [];
  const lines = [
    ...(written === '' && event
      ? []
      : wrapped(event ? written.replaceAll('\t', '    ') : GONE, columns)),
    ...record,
  ];
  const { top, keys } = useScroll(lines.length, rows, event);
  const leave = { escape: onLeave, return: onLeave, q: onLeave };
  useKeys({ ...keys, ...leave, leftArrow: step(-1), rightArrow: step(1) });
  return <Lines lines={lines} top={top} height={rows} />;
}
