import { endpoints } from '../../src/api/index.ts';
import type { Client } from '../../src/client/client.ts';
import { startServer, untilNothingCarries } from '../support/server.ts';
import type { History } from './million-log.ts';

/** How long each thing took, in milliseconds, by what it was. */
export type Times = Record<string, number>;

/** From the spawn of a server to its ready line, and each first page it is asked for. */
export async function timedStart({ directory, session_id }: History): Promise<Times> {
  const started = performance.now();
  // No agent is started beside it to be asked for its sessions, and no answer is checked in it.
  const server = await startServer(directory, { config: '', env: { NODE_OPTIONS: '' } });
  const times: Times = { start: performance.now() - started };
  try {
    await server.client.call(endpoints.getVersion, {});
    for (const [what, first] of firstPages(server.client, session_id, 50)) {
      const asked = performance.now();
      await first();
      times[what] = performance.now() - asked;
    }
  } finally {
    await server.end('SIGTERM');
    await untilNothingCarries(directory);
  }
  return times;
}

/** Each is full in the shorter log, too; those that have least in common with the others come first. */
export function firstPages(
  client: Client,
  session_id: string,
  limit: number,
): [what: string, () => Promise<unknown>][] {
  const params = { session_id };
  const query = { limit };
  const ready = { status: 'ready' as const, limit: 5 };
  const ofOneKind = { kind: ['turn.completed'], limit };
  return [
    ['sessions of a status', () => client.call(endpoints.listSessions, { query: ready })],
    ['sessions', () => client.call(endpoints.listSessions, { query })],
    ['turns of a session', () => client.call(endpoints.listTurns, { params })],
    ['approvals', () => client.call(endpoints.listApprovals, {})],
    ['events of a session', () => client.call(endpoints.replaySessionEvents, { params })],
    ['events', () => client.call(endpoints.replayEvents, {})],
    ['events of one kind', () => client.call(endpoints.replayEvents, { query: ofOneKind })],
  ];
}
