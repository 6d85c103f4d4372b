import { useEffect, useEffectEvent, useState, useSyncExternalStore } from 'react';
import { oneLine } from '../client/telling.ts';
import { AppError } from '../errors.ts';
import type { Clock } from '../lib/clock.ts';
import type { Desk } from './desk.ts';
import type { Resolved } from './overview.ts';
import type { Source } from './source.ts';

/** The current value of a source. */
export function useSource<T>(source: Source<T>): T {
  return useSyncExternalStore(source.subscribe, source.get);
}

/** The time in Unix milliseconds, updated every second. */
export function useNow(clock: Clock): number {
  const [now, setNow] = useState(() => clock.now());
  useEffect(() => {
    const ticks = clock.every(1000, () => setNow(clock.now()));
    return () => ticks[Symbol.dispose]();
  }, [clock]);
  return now;
}

/** Calls `tell` for every approval that is resolved, by this client or another. */
export function useResolved(desk: Desk, tell: (resolved: Resolved) => void): void {
  const onResolved = useEffectEvent(tell);
  useEffect(() => {
    let last = desk.overview.get().resolved;
    return desk.overview.subscribe(() => {
      const { resolved } = desk.overview.get();
      if (resolved && resolved !== last) onResolved(resolved);
      last = resolved;
    });
  }, [desk]);
}

/** A notice to the user, set by `tell`. `attempt` shows why the server refused a request. */
export function useNotice(): {
  notice: string;
  tell: (text: string) => void;
  attempt: (work: Promise<unknown>) => void;
} {
  const [notice, tell] = useState('');
  const attempt = (work: Promise<unknown>) => {
    work.catch((error: unknown) => {
      if (!(error instanceof AppError)) throw error;
      tell(oneLine(error.message));
    });
  };
  return { notice, tell, attempt };
}
