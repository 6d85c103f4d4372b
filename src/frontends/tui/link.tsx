import type { ReactNode } from 'react';
import type { Connection } from './follow.ts';
import { Tint } from './tint.tsx';

/** The state of the connection in a word. */
export function Link({ connection, now }: { connection: Connection; now: number }): ReactNode {
  const { state } = connection;
  if (state === 'reading') return <Tint tone="faint">loading</Tint>;
  if (state === 'live') return <Tint tone="good">live</Tint>;
  const seconds = state === 'lost' ? Math.max(0, Math.round((now - connection.since) / 1000)) : 0;
  return (
    <Tint tone="bad" bold>
      {state === 'lost' ? `reconnecting (${seconds}s)` : state}
    </Tint>
  );
}
