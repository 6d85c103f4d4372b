import { useEffect, useEffectEvent, useRef, useState, useSyncExternalStore } from 'react';
import { AppError } from '../../api/errors.ts';
import { oneLine } from '../../client/event-summary.ts';
import type { Clock } from '../../core/lib/clock.ts';
import type { Observable } from './observable.ts';
import type { OverviewStore } from './overview-store.ts';
import type { Resolved } from './overview.ts';
import { withTitles } from './titles.ts';
import type { UserActions } from './user-actions.ts';
import { graphemesOf } from './forms/editor.ts';

export function useObservable<T>(source: Observable<T>): T {
  return useSyncExternalStore(source.subscribe, source.get);
}

/** The time in Unix milliseconds, updated every second while `isActive`. */
export function useNow(clock: Clock, isActive = true): number {
  const [now, setNow] = useState(() => clock.now());
  useEffect(() => {
    if (!isActive) return undefined;
    const ticks = clock.every(1000, () => setNow(clock.now()));
    return () => ticks[Symbol.dispose]();
  }, [clock, isActive]);
  return now;
}

/** Shows a notice for every approval that is resolved, by this client or another, and calls `close` with its id. */
export function useResolved(
  { overviewStore: { overview }, actions }: { overviewStore: OverviewStore; actions: UserActions },
  showNotice: (text: string) => void,
  close: (id: string) => void,
): void {
  const onResolved = useEffectEvent((resolved: Resolved) => {
    showNotice(describeResolved(resolved, actions.isMine(resolved.id)));
    close(resolved.id);
  });
  useEffect(() => {
    let last = overview.get().resolved;
    return overview.subscribe(() => {
      const { resolved } = overview.get();
      if (resolved && resolved !== last) onResolved(resolved);
      last = resolved;
    });
  }, [overview]);
}

/** A longer title is cut in the middle: a command is known by its beginning and its end. */
const LONGEST = 80;

/** How an approval was resolved, and by whom: this screen, another client, or nobody. */
function describeResolved(resolved: Resolved, isMine: boolean): string {
  const { title, status, decided_by, reason } = resolved;
  const what = `"${withoutMiddle(oneLine(title))}"`;
  const why = reason === null ? '' : `: ${oneLine(reason)}`;
  const done = status === 'accepted' ? 'approved' : status;
  if (isMine) return `${done === 'approved' ? 'Approved' : 'Declined'} ${what}${why}`;
  const by = decided_by === 'api' ? 'another client' : oneLine(decided_by ?? '');
  return `${what} was ${done}${by === '' ? '' : ` by ${by}`}${why}`;
}

function withoutMiddle(text: string): string {
  const pieces = graphemesOf(text);
  if (pieces.length <= LONGEST) return text;
  const half = Math.floor((LONGEST - 1) / 2);
  return `${pieces.slice(0, half).join('')}…${pieces.slice(-half).join('')}`;
}

/** A notice is shown for this time, and a long one for so much longer as reading each of its characters takes. */
const NOTICE_MS = 6000;
const CHARACTER_MS = 60;

export interface Notices {
  /** The text of the notice; empty without a notice. */
  notice: string;
  showNotice: (text: string) => void;
  /** Waits for a piece of work, and shows the reason if the server refuses it. */
  attempt: (work: Promise<unknown>) => void;
}

/** A notice that is shown for a few seconds. */
export function useNotice(clock: Clock, { overview }: OverviewStore): Notices {
  const [notice, setNotice] = useState('');
  const ends = useRef<Disposable>(undefined);
  const showNotice = (text: string) => {
    ends.current?.[Symbol.dispose]();
    setNotice(text);
    const ms = Math.max(NOTICE_MS, text.length * CHARACTER_MS);
    if (text !== '') ends.current = clock.after(ms, () => setNotice(''));
  };
  useEffect(() => () => ends.current?.[Symbol.dispose](), []);
  const attempt = (work: Promise<unknown>) => {
    work.catch((error: unknown) => {
      if (!(error instanceof AppError)) throw error;
      showNotice(withTitles(oneLine(error.message), overview.get()));
    });
  };
  return { notice, showNotice, attempt };
}

/** The result of `read`, which is called again when `deps` change; null until the first result. */
export function useRead<T>(
  { attempt }: Notices,
  deps: readonly unknown[],
  read: (signal: AbortSignal) => Promise<T>,
): T | null {
  const [found, setFound] = useState<T | null>(null);
  useEffect(() => {
    const stopped = new AbortController();
    const { signal } = stopped;
    const work = async () => {
      try {
        const value = await read(signal);
        if (!signal.aborted) setFound(value);
      } catch (error) {
        if (!signal.aborted) throw error;
      }
    };
    attempt(work());
    return () => stopped.abort();
    // oxlint-disable-next-line react-hooks/exhaustive-deps -- read again with each change of `deps`, not with each frame
  }, deps);
  return found;
}
