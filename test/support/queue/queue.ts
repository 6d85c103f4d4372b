import type { QueueEntry, SessionQueue } from '../../../src/api/queue.ts';
import type { Session } from '../../../src/api/sessions.ts';
import { ProviderError } from '../../../src/agents/provider.ts';
import type { Refusal, Reply, Stage } from '../sessions/harness.ts';
import { completed } from '../teams/team.ts';

export const MINUTE = 60_000;
export const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;

/** Returns the requests of clients for the queue of a stage. */
export function queueOf(stage: Stage) {
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
      stage.post(path(session), { input: { type: 'text', text }, ...more }, headers),
    list: async (query = ''): Promise<QueueEntry[]> =>
      (await stage.get<QueueEntry[]>(`/v1/queue${query}`)).body,
    of: async (session: { id: string }): Promise<SessionQueue> =>
      (await stage.get<SessionQueue>(path(session))).body,
    get: (entry: { id: string }): Promise<Reply<QueueEntry & Refusal>> => stage.get(of(entry)),
    edit: (entry: { id: string }, change: object): Promise<Reply<QueueEntry & Refusal>> =>
      stage.patch(of(entry), change),
    move: (entry: { id: string }, place: object): Promise<Reply<SessionQueue & Refusal>> =>
      stage.post(`${of(entry)}/move`, place),
    pause: (entry: { id: string }, body?: object): Promise<Reply<QueueEntry & Refusal>> =>
      stage.post(`${of(entry)}/pause`, body),
    resume: (entry: { id: string }): Promise<Reply<QueueEntry & Refusal>> =>
      stage.post(`${of(entry)}/resume`),
    drop: (entry: { id: string }): Promise<Reply<QueueEntry & Refusal>> => stage.del(of(entry)),
    pauseAll: (session: { id: string }, body?: object): Promise<Reply<SessionQueue & Refusal>> =>
      stage.post(`${path(session)}/pause`, body),
    resumeAll: (session: { id: string }): Promise<Reply<SessionQueue & Refusal>> =>
      stage.post(`${path(session)}/resume`),
  };
}

/** Returns a predicate for events of a kind and an entry. */
export function ofEntry(entry: { id: string }, kind: string) {
  return (event: { kind: string; payload: object }) =>
    event.kind === kind && (event.payload as { entry?: { id: string } }).entry?.id === entry.id;
}

/** Makes a session with a completed turn, without an agent; the next attempt to resume it fails. */
export async function unresumable(stage: Stage): Promise<Session> {
  const session = await stage.open();
  const first = await stage.play(session);
  first.end(completed);
  await stage.until(
    ({ kind, session_id }) => kind === 'turn.completed' && session_id === session.id,
  );
  first.agent.die('gone');
  await first.agent.gone;
  stage.provider.refuseOpen(new ProviderError('resume_failed', 'it is unknown'));
  return session;
}
