import type { Receiver } from '../../../support/hooks/receiver.ts';
import type { Complaints } from '../../crash/checks.ts';
import type { Rest, Story, World } from '../activity.ts';

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
export class HookStory implements Story {
  readonly name = 'hooks';
  readonly #world: World;
  readonly #taken: Event[] = [];

  constructor(world: World, receiver: Receiver) {
    this.#world = world;
    const random = world.random.fork();
    receiver.answer = ({ event, headers }, reply) => {
      const lot = random.between(1, 100);
      if (lot === 1) return reply.send(503, 'not now');
      if (lot === 2) return void reply.socket.destroy();
      this.#taken.push({ seq: event.seq, id: String(headers['webhook-id']) });
      reply.send(200);
    };
  }

  run(): Promise<void> {
    const { closing } = this.#world;
    return new Promise((resolve) => {
      if (closing.aborted) resolve();
      closing.addEventListener('abort', () => resolve());
    });
  }

  check({ log }: Rest): Promise<Complaints> {
    return Promise.resolve(
      judgeDeliveries(
        this.#taken,
        log.filter(({ kind }) => HOOK_KINDS.includes(kind)),
      ),
    );
  }
}

/** Each event was delivered at least once, none of them before an earlier one, and no others. */
export function judgeDeliveries(taken: readonly Event[], log: readonly Event[]): Complaints {
  const wrong: Complaints = [];
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
