import type { Base } from './base.ts';
import type { Sessions } from './build/sessions.ts';
import type { Processes } from './build/work.ts';

/** Resolves when the agent and the processes of a session have ended. */
export async function sessionEnded(
  { db }: Pick<Base, 'db'>,
  { sessions, processes }: { sessions: Sessions; processes: Processes },
  session_id: string,
): Promise<void> {
  await sessions.pool.end(session_id);
  const left = db.peek((rx) => processes.store.unfinishedOf(rx, { session_id }));
  await Promise.all(left.map(({ process_id }) => processes.runner.done(process_id)));
}
