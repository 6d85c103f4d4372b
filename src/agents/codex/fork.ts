import type { ForkPoint } from '../conversations.ts';
import { reportNoFork } from '../fork.ts';
import { fieldOf } from '../lenient.ts';
import type { AgentSink } from '../provider.ts';
import { type Ask, entriesOf } from './models.ts';
import { isRefusal } from './threads.ts';

/** Forks a thread. Resolves with the answer of codex; null if codex cannot fork the thread at this point. Rejects as `ask`. */
export async function forkThread(
  ask: Ask,
  params: object,
  { ref, turnRef }: ForkPoint,
  sink: AgentSink,
): Promise<object | null> {
  const at = turnRef === null ? {} : { lastTurnId: turnRef };
  try {
    const asked = { ...params, threadId: ref, ...at, excludeTurns: true };
    const answer = (await ask('thread/fork', asked)) as object;
    const threadId = fieldOf(fieldOf(answer, 'thread'), 'id');
    if (turnRef === null || (await lastTurnOf(ask, threadId)) === turnRef) return answer;
    await ask('thread/unsubscribe', { threadId });
    await reportNoFork(sink, 'this version of codex does not fork a thread at a turn');
  } catch (error) {
    if (!isRefusal(error, /./)) throw error;
    await reportNoFork(sink, (error as Error).message);
  }
  return null;
}

/** Older versions of codex ignore the turn, and fork the whole thread. */
async function lastTurnOf(ask: Ask, threadId: unknown): Promise<unknown> {
  const query = { threadId, sortDirection: 'desc', itemsView: 'summary', limit: 1 };
  for await (const turn of entriesOf(ask, 'thread/turns/list', query)) return fieldOf(turn, 'id');
  return null;
}
