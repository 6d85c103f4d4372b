import { useEffect, useEffectEvent } from 'react';
import { plain } from '../../../core/lib/plain.ts';
import type { ListItem } from '../list/list-items.ts';
import { isMuted, nameOf, sessionTitleOf } from '../list/row-text.ts';
import { needsMe } from '../list/sections.ts';
import type { PaneModel } from '../panes/pane-model.ts';
import type { ScreenContext } from './screen-context.ts';

/** A session counts as seen once it was shown for this time. */
const LOOK_MS = 1000;

/**
 * Marks the visible session as seen on the server, while the terminal has the focus. `shown`: undefined also for a row
 * that the program has selected.
 */
export function useSeen(
  { clock, acts, terminal: { hasFocus } }: ScreenContext,
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
      const tell = () => void acts.update(id, { seen_seq: news }).catch(() => undefined);
      const isShown = hasFocus.get() && model.follows.get() && model.seq.get() >= news;
      wait = isShown ? clock.after(LOOK_MS, tell) : undefined;
    };
    look();
    const stops = [hasFocus, model.follows, model.seq].map((one) => one.subscribe(look));
    return () => {
      for (const stop of stops) stop();
      wait?.[Symbol.dispose]();
    };
  }, [acts, clock, hasFocus, id, news, model]);
}

/**
 * Rings once for each thing that comes to need a person while the terminal does not have the focus, unless its session is
 * muted.
 */
export function useAlerts({ listState, terminal: { hasFocus, write } }: ScreenContext): void {
  const ring = useEffectEvent((fresh: ListItem) => {
    const title = plain(
      fresh.kind === 'session' ? sessionTitleOf(fresh.now.session) : nameOf(fresh),
    );
    write(`\u0007\u001B]9;cadre: ${title}\u0007`);
  });
  useEffect(() => {
    let known: ReadonlySet<string> | null = null;
    return listState.view.subscribe(() => {
      const { things, now } = listState.view.get();
      const needs = things.filter((thing) => needsMe(thing, things, now));
      const before = known;
      known = new Set(needs.map(eventOf));
      // Items that needed the user before the screen was open ring no bell.
      const fresh = before && needs.find((thing) => !before.has(eventOf(thing)) && !isMuted(thing));
      if (fresh && !hasFocus.get()) ring(fresh);
    });
  }, [listState, hasFocus]);
}

function eventOf(thing: ListItem): string {
  return thing.kind === 'session' ? `${thing.id} ${thing.now.session.news_seq}` : thing.id;
}
