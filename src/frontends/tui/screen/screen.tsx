import { Box, Text } from 'ink';
import { type ReactNode, useEffect, useEffectEvent, useState } from 'react';
import type { EventScope } from '../../../client/event-scope.ts';
import { useKeys } from '../keyboard.ts';
import type { Hold, PaneModel } from '../panes/pane-model.ts';
import { useNotice, useResolved, useObservable } from '../react-hooks.ts';
import { Body } from './body.tsx';
import { Footer, noticeLinesIn } from './footer.tsx';
import { Header } from './header.tsx';
import { listKeys, paneKeys } from './keys.ts';
import type { ScreenContext } from './screen-context.ts';
import { type Base, list, type Mode, type ScreenState, useMarks } from './screen-state.ts';
import { usePane, useTarget } from './use-pane.ts';
import { plain } from '../../../core/lib/plain.ts';
import type { ListItem } from '../list/list-items.ts';
import { isMuted, nameOf, sessionTitleOf } from '../list/row-text.ts';
import { needsMe } from '../list/sections.ts';

/** From this width on the pane is beside the list. */
const WIDE = 100;

export interface ScreenProps {
  context: ScreenContext;
  rows: number;
  columns: number;
  notice?: string | undefined;
  onEvents: (scope: EventScope, id?: string) => void;
  onLeave: () => void;
}

/** The list of all items, and the pane of the selected one. */
export function Screen(props: ScreenProps): ReactNode {
  const { context, rows, columns, notice: first, onEvents, onLeave } = props;
  const view = useObservable(context.listState.view);
  const notices = useNotice(context.clock, context.overviewStore);
  const [mode, setAnyMode] = useState<Mode>(list);
  const [base, setBase] = useState<Base>('list');
  const setMode = (next: Mode) => {
    if (next.name === 'list' || next.name === 'pane') setBase(next.name);
    setAnyMode(next);
  };
  const [peeks, setPeeks] = useState(false);
  const [hold, setHold] = useState<Hold>(null);
  const connection = useObservable(context.overviewStore.connection);
  const noticeLines = noticeLinesIn(
    mode.name,
    { notice: notices.notice, connection },
    columns,
    context.keys,
  );
  const isWide = columns >= WIDE;
  const item = view.chosen && 'item' in view.chosen ? view.chosen.item : undefined;

  const marks = useMarks(view.items);

  useResolved(context, notices.showNotice, (id) => {
    if (mode.name === 'approval' && mode.asked.approval.id === id) setMode({ name: base });
  });
  useFirstNotice(notices.showNotice, first);
  useAlerts(context);
  const showsPane = isWide || peeks || mode.name === 'pane' || mode.name === 'say';
  const pane = usePane(context, item);
  const showAt = useTarget(pane, notices);
  const isOpened = view.isReached || mode.name === 'pane' || mode.name === 'say';
  useSeen(context, showsPane && isOpened ? item : undefined, pane?.model);
  const shown: ScreenState = {
    ...notices,
    context,
    view,
    item,
    marks,
    mode,
    setMode,
    back: () => setAnyMode((now) => (now === mode ? { name: base } : now)),
    hold,
    setHold,
    pane,
    copyable: () => pane?.model.copyable() ?? (item ? [{ name: 'id', text: item.id }] : []),
    peeks,
    setPeeks,
    isWide,
    noticeLines,
    height: Math.max(1, rows - 1 - Math.max(1, noticeLines.length)),
    columns,
    showAt,
    onEvents,
    onLeave,
  };
  // A notice stands where the keys are shown of what comes next.
  const endNotice = () => notices.showNotice('');
  useKeys(listKeys(shown), mode.name === 'list', endNotice);
  useKeys(paneKeys(shown), mode.name === 'pane' && hold !== 'all', endNotice);

  if (rows < 12 || columns < 40) return <TooSmall rows={rows} columns={columns} />;
  return (
    <Box flexDirection="column" width={columns} height={rows}>
      <Header shown={shown} />
      <Body shown={shown} />
      <Footer shown={shown} />
    </Box>
  );
}

function useFirstNotice(showNotice: (text: string) => void, first: string | undefined): void {
  const showFirst = useEffectEvent(() => {
    if (first !== undefined) showNotice(first);
  });
  useEffect(() => showFirst(), []);
}

function TooSmall({ rows, columns }: { rows: number; columns: number }): ReactNode {
  return (
    <Box width={columns} height={rows}>
      <Text>{`Terminal too small: ${columns}x${rows} (min. 40x12)`}</Text>
    </Box>
  );
}

/** A session counts as seen once it was shown for this time. */
const LOOK_MS = 1000;

/**
 * Marks the visible session as seen on the server, while the terminal has the focus. `shown`: undefined also for a row
 * that the program has selected.
 */
function useSeen(
  { clock, actions, terminal: { hasFocus } }: ScreenContext,
  shown: ListItem | undefined,
  model: PaneModel | undefined,
): void {
  const session = shown?.kind === 'session' ? shown.now.session : null;
  const news = session && session.news_seq > session.seen_seq ? session.news_seq : null;
  const id = session?.id;
  useEffect(() => {
    if (id === undefined || news === null || !model) return undefined;
    let wait: Disposable | undefined;
    const look = () => {
      wait?.[Symbol.dispose]();
      // If the server refuses this, the session stays unseen until the next attempt.
      const markSeen = () => void actions.update(id, { seen_seq: news }).catch(() => undefined);
      const isShown = hasFocus.get() && model.reader.follows.get() && model.seq.get() >= news;
      wait = isShown ? clock.after(LOOK_MS, markSeen) : undefined;
    };
    look();
    const stops = [hasFocus, model.reader.follows, model.seq].map((one) => one.subscribe(look));
    return () => {
      for (const stop of stops) stop();
      wait?.[Symbol.dispose]();
    };
  }, [actions, clock, hasFocus, id, news, model]);
}

/**
 * Rings once for each item that comes to need a person while the terminal does not have the focus, unless its session is
 * muted.
 */
function useAlerts({ listState, terminal: { hasFocus, write } }: ScreenContext): void {
  const ring = useEffectEvent((fresh: ListItem) => {
    const title = plain(
      fresh.kind === 'session' ? sessionTitleOf(fresh.now.session) : nameOf(fresh),
    );
    write(`\u0007\u001B]9;cadre: ${title}\u0007`);
  });
  useEffect(() => {
    let known: ReadonlySet<string> | null = null;
    return listState.view.subscribe(() => {
      const { items, now } = listState.view.get();
      const needs = items.filter((item) => needsMe(item, items, now));
      const before = known;
      known = new Set(needs.map(eventOf));
      // Items that needed the user before the screen was open ring no bell.
      const fresh = before && needs.find((item) => !before.has(eventOf(item)) && !isMuted(item));
      if (fresh && !hasFocus.get()) ring(fresh);
    });
  }, [listState, hasFocus]);
}

function eventOf(item: ListItem): string {
  return item.kind === 'session' ? `${item.id} ${item.now.session.news_seq}` : item.id;
}
