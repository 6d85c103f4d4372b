import type { Session } from '../../api/sessions.ts';
import { type ForkPoint, hasContent } from '../conversations.ts';
import { reportNoFork } from '../fork.ts';
import { type AgentSink, ProviderError } from '../provider.ts';

/** How a process of claude begins. */
export type Beginning = 'new' | 'resume' | ForkPoint;

/** Returns the arguments for the session `ref`. */
export function argumentsOf(beginning: Beginning, ref: string): string[] {
  if (beginning === 'new') return [`--session-id=${ref}`];
  if (beginning === 'resume') return [`--resume=${ref}`];
  const { ref: origin, turnRef } = beginning;
  const at = turnRef === null ? [] : [`--resume-session-at=${turnRef}`];
  return [`--resume=${origin}`, '--fork-session', ...at, `--session-id=${ref}`];
}

/** Starts claude on the conversation of a session, else as a fork of another one, else anew. */
export async function begin(
  start: (beginning: Beginning) => Promise<void>,
  { session, sink, fork }: { session: Session; sink: AgentSink; fork: ForkPoint | null },
): Promise<void> {
  const refusalOf = (beginning: Beginning) =>
    start(beginning).then(
      () => null,
      (error: unknown) => {
        // Claude keeps no session that has had no answer: there is nothing to resume, and nothing to lose.
        const isGone = error instanceof ProviderError && error.code === 'resume_failed';
        if (hasContent(session) || !isGone) throw error;
        return error.message;
      },
    );
  if (session.provider_session_ref !== null && (await refusalOf('resume')) === null) return;
  const refusal = fork && (await refusalOf(fork));
  if (fork && refusal === null) return;
  if (refusal !== null) await reportNoFork(sink, refusal);
  await start('new');
}
