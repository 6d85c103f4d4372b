import type { Receiver } from '../../../support/hooks/receiver.ts';
import type { Violations } from '../../crash/checks.ts';
import type { FinalState, Activity, ActivityContext } from '../activity.ts';

/** The kinds of events that the hook receives. */
export const HOOK_KINDS = [
  'turn.completed',
  'turn.failed',
  'approval.resolved',
  'queue.started',
  'process.completed',
  'budget.reached',
];

interface Event {
  seq: number;
  id: string;
}

/** A receiver of events, which sometimes refuses one or does not respond. */
export class HookActivity implements Activity {
  readonly name = 'hooks';
  readonly #context: ActivityContext;
  readonly #taken: Event[] = [];

  constructor(context: ActivityContext, receiver: Receiver) {
    this.#context = context;
    const random = context.random.fork();
    receiver.answer = ({ event, headers }, reply) => {
      const lot = random.between(1, 100);
      if (lot === 1) return reply.send(503, 'not now');
      if (lot === 2) return void reply.socket.destroy();
      this.#taken.push({ seq: event.seq, id: String(headers['webhook-id']) });
      reply.send(200);
    };
  }

  run(): Promise<void> {
    const { closing } = this.#context;
    return new Promise((resolve) => {
      if (closing.aborted) resolve();
      closing.addEventListener('abort', () => resolve());
    });
  }

  check({ log }: FinalState): Promise<Violations> {
    return Promise.resolve(
      checkDeliveries(
        this.#taken,
        log.filter(({ kind }) => HOOK_KINDS.includes(kind)),
      ),
    );
  }
}

/** Each event was delivered at least once, none of them before an earlier one, and no others. */
export function checkDeliveries(taken: readonly Event[], log: readonly Event[]): Violations {
  const wrong: Violations = [];
  const named = ({ seq, id }: Event) => `${seq} ${id}`;
  for (const [at, event] of taken.entries())
    if (at > 0 && event.seq < (taken[at - 1]?.seq ?? 0))
      wrong.push(`the hook got ${named(event)} after ${named(taken[at - 1] as Event)}`);
  const got = new Set(taken.map(named));
  for (const event of log)
    if (!got.delete(named(event))) wrong.push(`the hook never got ${named(event)}`);
  for (const event of got) wrong.push(`the hook got ${event}, which the log has not`);
  return wrong;
}
