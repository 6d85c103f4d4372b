import type { ReactNode } from 'react';
import type { Connection } from './follow.ts';
import { Tint } from './tint.tsx';

/** The state of the connection in a word. */
export function Link({ connection, now }: { connection: Connection; now: number }): ReactNode {
  switch (connection.state) {
    case 'reading':
      return <Tint tone="faint">loading</Tint>;
    case 'live':
      return <Tint tone="good">live</Tint>;
    case 'lost':
      return (
        <Tint tone="bad" bold>
          reconnecting ({Math.max(0, Math.round((now - connection.since) / 1000))}s)
        </Tint>
      );
    case 'refused':
      return (
        <Tint tone="bad" bold>
          refused
        </Tint>
      );
  }
}
