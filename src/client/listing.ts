import type { Approval } from '../api/approvals.ts';
import { endpoints } from '../api/index.ts';
import type { Process } from '../api/processes.ts';
import type { Diagnostics } from '../api/runtime.ts';
import type { Session } from '../api/sessions.ts';
import type { Client } from './client.ts';

/** What goes on at a server: how it is, who works, what waits. */
export interface Listing {
  /** Whoever follows the events after this one misses nothing. */
  seq: number;
  server: Diagnostics;
  /** Those that are not closed: of each status the newest. */
  sessions: Session[];
  /** Those that wait for an answer, newest first. */
  approvals: Approval[];
  /** Those that run or wait for a place, newest first. */
  processes: Process[];
}

/** So many of each status, at most. */
const LIMIT = 500;

/** Lists what goes on. */
export async function listAll(client: Client): Promise<Listing> {
  // The first answer says from where on to follow: what the later ones know already does no harm.
  const { value: server, headers } = await client.ask(endpoints.getDiagnostics, {});
  const seq = Number(headers['x-seq'] ?? 0);
  const approvals = await client.call(endpoints.listApprovals, { query: { limit: LIMIT } });
  const sessions: Session[] = [];
  for (const status of ['waiting_for_approval', 'running', 'failed', 'ready'] as const)
    sessions.push(
      ...(await client.call(endpoints.listSessions, { query: { status, limit: LIMIT } })),
    );
  const processes: Process[] = [];
  for (const status of ['running', 'queued'] as const)
    processes.push(
      ...(await client.call(endpoints.listProcesses, { query: { status, limit: LIMIT } })),
    );
  return { seq, server, sessions, approvals, processes };
}
