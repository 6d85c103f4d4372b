import type { ReactNode } from 'react';
import type { Connection } from './follow.ts';
import { Tint } from './tint.tsx';

type Lost = Extract<Connection, { state: 'lost' }>;

/** The state of the connection in a word. */
export function ConnectionStatus({
  connection,
  now,
}: {
  connection: Connection;
  now: number;
}): ReactNode {
  const { state } = connection;
  if (state === 'reading') return <Tint tone="faint">loading</Tint>;
  if (state === 'live') return <Tint tone="good">live</Tint>;
  return (
    <Tint tone="bad" bold>
      {state === 'lost' ? lostText(connection, now) : state}
    </Tint>
  );
}

function lostText({ since, isRestart }: Lost, now: number): string {
  const seconds = Math.max(0, Math.round((now - since) / 1000));
  return `${isRestart ? 'server restarting' : 'reconnecting'} (${seconds}s)`;
}
