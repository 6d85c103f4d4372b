import type { QueueEntry, SessionQueue } from '../../../src/api/queue.ts';
import type { Session } from '../../../src/api/sessions.ts';
import { ProviderError } from '../../../src/agents/provider.ts';
import type { Refusal, Reply, Harness } from '../sessions/harness.ts';
import { completed } from '../teams/team.ts';

export const MINUTE = 60_000;
export const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;

/** Returns the requests of clients for the queue of a harness. */
export function queueOf(harness: Harness) {
  const path = (session: { id: string }) => `/v1/sessions/${session.id}/queue`;
  const of = ({ id }: { id: string }) => `/v1/queue/${id}`;
  return {
    /** Adds an entry: a text, or a whole request body. */
    add: (
      session: { id: string },
      text: string,
      more: object = {},
      headers?: Record<string, string>,
    ): Promise<Reply<QueueEntry & Refusal>> =>
      harness.post(path(session), { input: { type: 'text', text }, ...more }, headers),
    list: async (query = ''): Promise<QueueEntry[]> =>
      (await harness.get<QueueEntry[]>(`/v1/queue${query}`)).body,
    of: async (session: { id: string }): Promise<SessionQueue> =>
      (await harness.get<SessionQueue>(path(session))).body,
    get: (entry: { id: string }): Promise<Reply<QueueEntry & Refusal>> => harness.get(of(entry)),
    edit: (entry: { id: string }, change: object): Promise<Reply<QueueEntry & Refusal>> =>
      harness.patch(of(entry), change),
    move: (entry: { id: string }, place: object): Promise<Reply<SessionQueue & Refusal>> =>
      harness.post(`${of(entry)}/move`, place),
    pause: (entry: { id: string }, body?: object): Promise<Reply<QueueEntry & Refusal>> =>
      harness.post(`${of(entry)}/pause`, body),
    resume: (entry: { id: string }): Promise<Reply<QueueEntry & Refusal>> =>
      harness.post(`${of(entry)}/resume`),
    drop: (entry: { id: string }): Promise<Reply<QueueEntry & Refusal>> => harness.del(of(entry)),
    pauseAll: (session: { id: string }, body?: object): Promise<Reply<SessionQueue & Refusal>> =>
      harness.post(`${path(session)}/pause`, body),
    resumeAll: (session: { id: string }): Promise<Reply<SessionQueue & Refusal>> =>
      harness.post(`${path(session)}/resume`),
  };
}

/** Returns a predicate for events of a kind and an entry. */
export function ofEntry(entry: { id: string }, kind: string) {
  return (event: { kind: string; payload: object }) =>
    event.kind === kind && (event.payload as { entry?: { id: string } }).entry?.id === entry.id;
}

/** Makes a session with a completed turn, without an agent; the next attempt to resume it fails. */
export async function unresumable(harness: Harness): Promise<Session> {
  const session = await harness.open();
  const first = await harness.startTurn(session);
  first.end(completed);
  await harness.until(
    ({ kind, session_id }) => kind === 'turn.completed' && session_id === session.id,
  );
  first.agent.die('gone');
  await first.agent.gone;
  harness.provider.refuseOpen(new ProviderError('resume_failed', 'it is unknown'));
  return session;
}
