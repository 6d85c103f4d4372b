import { useEffect, useEffectEvent, useState, useSyncExternalStore } from 'react';
import { oneLine } from '../client/telling.ts';
import { AppError } from '../errors.ts';
import type { Clock } from '../lib/clock.ts';
import type { Desk } from './desk.ts';
import type { Resolved } from './overview.ts';
import type { Source } from './source.ts';

/** The value of a source, as it changes. */
export function useSource<T>(source: Source<T>): T {
  return useSyncExternalStore(source.subscribe, source.get);
}

/** The time, to the second: for what says how long ago something was. */
export function useNow(clock: Clock): number {
  const [now, setNow] = useState(() => clock.now());
  useEffect(() => {
    const ticks = clock.every(1000, () => setNow(clock.now()));
    return () => ticks[Symbol.dispose]();
  }, [clock]);
  return now;
}

/** Tells of every approval that is resolved, by whomever. */
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

/** What a person is told until the next key; `attempt` tells of what a server refuses. */
export function useNotice(): {
  notice: string;
  tell: (text: string) => void;
  attempt: (doing: Promise<unknown>) => void;
} {
  const [notice, tell] = useState('');
  const attempt = (doing: Promise<unknown>) => {
    doing.catch((error: unknown) => {
      if (!(error instanceof AppError)) throw error;
      tell(oneLine(error.message));
    });
  };
  return { notice, tell, attempt };
}
