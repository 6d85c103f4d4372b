import type { ReactNode } from 'react';
import type { Connection } from './follow.ts';
import { StyledText } from './styled-text.tsx';

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
  if (state === 'reading') return <StyledText tone="faint">loading</StyledText>;
  if (state === 'live') return <StyledText tone="good">live</StyledText>;
  return (
    <StyledText tone="bad" bold>
      {state === 'lost' ? lostText(connection, now) : state}
    </StyledText>
  );
}

function lostText({ since, isRestart }: Lost, now: number): string {
  const seconds = Math.max(0, Math.round((now - since) / 1000));
  return `${isRestart ? 'server restarting' : 'reconnecting'} (${seconds}s)`;
}
