import { useApp, useWindowSize } from 'ink';
import { type ReactNode, useEffect, useMemo, useState } from 'react';
import type { Client } from '../client/client.ts';
import type { EventScope } from '../client/replay.ts';
import type { Clock } from '../lib/clock.ts';
import { Desk } from './desk.ts';
import { type Handler, Listeners, useKeyboard } from './keyboard.ts';
import { Tail } from './tail.ts';
import { TailPage } from './tail-page.tsx';
import { TopPage } from './top-page.tsx';

/** The page that is shown first. */
export type Start =
  | { page: 'top' }
  | {
      page: 'tail';
      scope: EventScope;
      after?: number | 'latest' | undefined;
      onSeq?: (seq: number) => void;
    };

export interface AppProps {
  client: Client;
  clock: Clock;
  start: Start;
  onInterrupt: () => void;
}

/** The screen, with its two pages: the overview, and the events of a scope. */
export function App({ client, clock, start, onInterrupt }: AppProps): ReactNode {
  const { exit } = useApp();
  const { rows, columns } = useWindowSize();
  const [tail, setTail] = useState(() =>
    start.page === 'tail' ? new Tail({ client, clock, ...start }) : null,
  );
  const watches = start.page === 'tail' ? 'approvals' : 'everything';
  const desk = useMemo(() => new Desk({ client, clock, watches }), [client, clock, watches]);
  useEffect(() => {
    desk.start();
    return () => desk.stop();
  }, [desk]);
  useEffect(() => {
    tail?.start();
    return () => tail?.stop();
  }, [tail]);
  const [listeners] = useState(() => new Set<Handler>());
  useKeyboard(listeners, (input, key) => {
    if (!key.ctrl || input !== 'c') return;
    onInterrupt();
    exit();
  });
  const place = { desk, clock, url: client.url, rows, columns };
  const leaveTail = () => (start.page === 'tail' ? exit() : setTail(null));
  const open = (scope: EventScope) => setTail(new Tail({ client, clock, scope }));
  return (
    <Listeners value={listeners}>
      {tail ? (
        <TailPage {...place} tail={tail} onLeave={leaveTail} />
      ) : (
        <TopPage {...place} onOpen={open} onLeave={() => exit()} />
      )}
    </Listeners>
  );
}
