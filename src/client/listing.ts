import type { Approval } from '../api/approvals.ts';
import { endpoints } from '../api/index.ts';
import type { Process } from '../api/processes.ts';
import type { Diagnostics } from '../api/runtime.ts';
import type { Session } from '../api/sessions.ts';
import type { Client } from './client.ts';

/** The state of a server: its diagnostics, sessions, pending approvals and processes. */
export interface Listing {
  /** A reader that follows the events after this seq misses no change. */
  seq: number;
  server: Diagnostics;
  /** The open and the failed ones: of each status the newest. */
  sessions: Session[];
  /** The pending ones, newest first. */
  approvals: Approval[];
  /** The running and the queued ones; of each the newest first. */
  processes: Process[];
}

/** At most this many of each status are listed. */
const LIMIT = 500;

export async function listAll(client: Client): Promise<Listing> {
  // The seq of the first response: later responses may already include events that follow it.
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
