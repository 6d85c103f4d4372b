import type { SessionUpdate } from '@agentclientprotocol/sdk/unstable';
import { isDescribed } from '../../api/events.ts';
import { endpoints } from '../../api/index.ts';
import type { Turn } from '../../api/sessions.ts';
import { recordsOf } from '../../client/records-of.ts';
import type { ServerLink } from './server-link.ts';
import { inputUpdates, itemUpdates, planOf, remark, usageOf } from './updates.ts';

/** How many events are read at once. */
const PAGE = 500;

/** The turns of a session that have ended, oldest first, but for one that still runs. */
export async function endedTurns(
  link: ServerLink,
  session_id: string,
  running: string | null,
): Promise<Turn[]> {
  const params = { session_id };
  const newest = recordsOf((query) => link.ask(endpoints.listTurns, { params, query }));
  return (await Array.fromAsync(newest))
    .toReversed()
    .filter(({ turn_id, ended_at }) => turn_id !== running && ended_at !== null);
}

/** Everything that was said and done in turns, in order. */
export async function* historyOf(
  link: ServerLink,
  session_id: string,
  turns: readonly Turn[],
): AsyncGenerator<SessionUpdate, void> {
  const plans = await lastPlans(link, session_id);
  for (const turn of turns) {
    const { turn_id, input, trimmed } = turn;
    if (trimmed) {
      yield remark('[Retention has removed the content of this turn.]');
      continue;
    }
    yield* inputUpdates(turn_id, input);
    const params = { session_id, turn_id };
    for (const item of await link.call(endpoints.listItems, { params })) yield* itemUpdates(item);
    const plan = plans.get(turn_id);
    if (plan) yield plan;
    yield* remarksOf(turn);
  }
  const usage = turns.at(-1)?.usage;
  if (usage) yield* usageOf(usage);
}

/** The remarks on a turn that did not complete, for an editor that does not wait for its answer. */
export function remarksOf({ status, error }: Pick<Turn, 'status' | 'error'>): SessionUpdate[] {
  if (status === 'interrupted') return [remark('[The turn was interrupted.]')];
  if (status !== 'failed') return [];
  return [remark(`[The turn failed: ${error?.message ?? 'unknown reason'}]`)];
}

/** The last plan of each turn. Retention may have removed the plans of old turns. */
async function lastPlans(
  link: ServerLink,
  session_id: string,
): Promise<ReadonlyMap<string, SessionUpdate>> {
  const plans = new Map<string, SessionUpdate>();
  const params = { session_id };
  for (let after_seq = 0; ;) {
    const query = { kind: ['plan.updated'], limit: PAGE, after_seq };
    const { value, headers } = await link.ask(endpoints.replaySessionEvents, { params, query });
    for (const event of value) {
      if (!isDescribed(event) || event.kind !== 'plan.updated' || event.turn_id === null) continue;
      if (event.payload.entries) plans.set(event.turn_id, planOf(event.payload.entries));
    }
    const next = headers['x-next-after-seq'];
    if (next === undefined) return plans;
    after_seq = Number(next);
  }
}
