import { AppError } from '../../../../src/api/errors.ts';
import { endpoints } from '../../../../src/api/index.ts';
import type { UntypedEvent } from '../../../support/untyped-events.ts';
import type { Violations } from '../../crash/checks.ts';
import {
  openSession,
  type FinalState,
  pauseRandomly,
  type Activity,
  turnsWith,
  untilClosing,
  type ActivityContext,
} from '../activity.ts';

const MOST_WAITING = 6;

/** Queued prompts for now and for later, some of which are removed, and a schedule. */
export class QueueActivity implements Activity {
  readonly name = 'queue';
  readonly #context: ActivityContext;
  /** The label of each acknowledged entry. */
  readonly #labels = new Map<string, string>();
  /** Entries whose removal was requested and not refused. A repeated DELETE has no key, and finds nothing. */
  readonly #removed = new Set<string>();
  readonly #waiting = new Set<string>();
  #session = '';

  constructor(context: ActivityContext) {
    this.#context = context;
    context.eventWaiter.onEvent(({ kind, payload }) => {
      if (kind === 'queue.removed') this.#waiting.delete((payload.entry as { id: string }).id);
    });
  }

  async run(): Promise<void> {
    const { requests, receipts, random } = this.#context;
    this.#session = await openSession(this.#context, this.#context.place);
    const params = { session_id: this.#session };
    const text = `${this.#context.newLabel()}; say scheduled`;
    const body = { input: { type: 'text' as const, text }, every: '* * * * *', time_zone: 'UTC' };
    const schedule = await requests.call(endpoints.addToQueue, { params, body });
    receipts.add('queue.added', schedule.id);
    await untilClosing(this.#context, async () => {
      if (this.#waiting.size < MOST_WAITING) await this.#add();
      if (random.chance(0.15)) await this.#remove();
      if (random.chance(0.1)) await this.#resume();
      await pauseRandomly(this.#context, 400);
    });
    await requests.call(endpoints.dropQueueEntry, { params: { entry_id: schedule.id } });
    await this.#resume();
  }

  async check({ client, log }: FinalState): Promise<Violations> {
    const params = { session_id: this.#session };
    const { entries } = await client.call(endpoints.getSessionQueue, { params });
    const wrong = entries.map(({ id, status }) => `the queue still has ${id}: ${status}`);
    // An entry whose turn fails before it starts, for example without a descriptor for the agent, gets another turn.
    const unstarted = log.filter(
      ({ kind, payload }) =>
        kind === 'turn.failed' &&
        (payload.turn as { started_at: number | null }).started_at === null,
    );
    const failed = new Set(unstarted.map(({ turn_id }) => turn_id));
    const reachedAgent = ({ turn_id }: UntypedEvent) => !failed.has(turn_id);
    for (const [id, label] of this.#labels) {
      const turns = turnsWith(log, label);
      const least = this.#removed.has(id) ? 0 : 1;
      if (turns.length < least || turns.filter(reachedAgent).length > 1)
        wrong.push(`queue entry ${id} (${label}) became ${turns.length} turns`);
    }
    return [...wrong, ...checkRuns(log)];
  }

  async #add(): Promise<void> {
    const { requests, receipts, random } = this.#context;
    const label = this.#context.newLabel();
    const at = random.chance(0.4) ? { at: this.#context.now() + random.between(0, 3000) } : {};
    const input = { type: 'text' as const, text: `${label}; say queued` };
    const params = { session_id: this.#session };
    const { id } = await requests.call(endpoints.addToQueue, { params, body: { input, ...at } });
    receipts.add('queue.added', id);
    this.#labels.set(id, label);
    this.#waiting.add(id);
  }

  /** Removes an entry, unless it has run before. */
  async #remove(): Promise<void> {
    const [id] = this.#waiting;
    if (id === undefined) return;
    this.#removed.add(id);
    try {
      await this.#context.requests.call(endpoints.dropQueueEntry, { params: { entry_id: id } }, [
        'not_found',
        'conflict',
        'turn_in_progress',
      ]);
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      if (error.code !== 'not_found') this.#removed.delete(id);
    }
  }

  /** After a time without agents, the queue is held for minutes. */
  async #resume(): Promise<void> {
    const params = { session_id: this.#session };
    await this.#context.requests.call(endpoints.resumeSessionQueue, { params, body: {} });
  }
}

interface Run {
  id: string;
  runs: number;
  due_at: number | null;
  every: string | null;
}

/** No run starts twice, and no due time of a schedule becomes due twice. */
export function checkRuns(log: readonly UntypedEvent[]): Violations {
  const wrong: Violations = [];
  const seen = new Set<string>();
  const once = (what: string) => {
    if (seen.has(what)) wrong.push(`${what} twice`);
    seen.add(what);
  };
  for (const { kind, payload } of log) {
    const { id, runs, every } = (payload.entry ?? {}) as Run;
    if (kind === 'queue.started') once(`run ${runs} of queue entry ${id} started`);
    if (kind === 'queue.started' && every === null && runs > 1)
      wrong.push(`queue entry ${id} has run ${runs} times`);
    if (kind === 'queue.due') once(`queue entry ${id} was due at ${String(payload.due_at)}`);
  }
  return wrong;
}
