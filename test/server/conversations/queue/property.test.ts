import { expect, it } from 'vitest';
import type { QueueEntry } from '../../../../src/api/queue.ts';
import { AppError } from '../../../../src/api/errors.ts';
import { atLength } from '../../../support/at-length.ts';
import { scaled } from '../../../support/patience.ts';
import { Judge, type Rhythm } from './queue-checker.ts';
import { DAY, HOUR, MINUTE } from '../../../support/queue/queue.ts';
import { World } from './queue-harness.ts';
import { type Random, seededRandom } from '../../../support/random.ts';
import { tempDirectory } from '../../../support/temp.ts';

/** `make queue`: 10,000 virtual days; in the suite one part in two hundred. */
const DAYS = Number(process.env.QUEUE_DAYS ?? atLength(50, 100, 100));
const SEED = Number(process.env.SEED || 0) || Math.trunc(Date.now() % 1e9);
/** One world lives so long; then another begins with the next seed. */
const WORLD_DAYS = 100;
const START = Date.UTC(2026, 0, 1);

const rhythms: readonly Rhythm[] = [
  { every: '0 */4 * * *', period: 4 * HOUR, offset: 0 },
  { every: '17 * * * *', period: HOUR, offset: 17 * MINUTE },
  { every: '45 6 * * *', period: DAY, offset: 6 * HOUR + 45 * MINUTE },
  { every: '0 21 * * *', period: DAY, offset: 21 * HOUR },
  // The epoch was a Thursday.
  { every: '30 12 * * THU', period: 7 * DAY, offset: 12 * HOUR + 30 * MINUTE },
];

const anyRhythm = ({ pick }: Dice) => ({ every: pick(rhythms).every, time_zone: 'UTC' }) as const;

class Dice {
  readonly #random: Random;
  constructor(random: Random) {
    this.#random = random;
  }
  readonly below = (limit: number): number => Math.floor(this.#random() * limit);
  readonly pick = <T>(from: readonly T[]): T => from[this.below(from.length)] as T;
  readonly chance = (share: number): boolean => this.#random() < share;
}

/** One action of the test, drawn by weight. */
type Act = (world: World, dice: Dice) => Promise<unknown>;
const acts: readonly [weight: number, act: Act][] = [
  [14, (world, { below }) => world.pass(below(HOUR) + 1)],
  [14, (world, { below }) => world.pass(below(8 * HOUR) + 1)],
  [20, agentsWork],
  [3, (world, dice) => add(world, dice, {})],
  [4, (world, dice) => add(world, dice, { at: world.now() + dice.below(2 * DAY) - HOUR })],
  [
    5,
    (world, dice) =>
      add(world, dice, { ...anyRhythm(dice), overlap: dice.pick(['skip', 'queue'] as const) }),
  ],
  [
    3,
    (world, dice) =>
      withEntry(world, dice, ({ id }) => world.life.service.edit(id, edit(world, dice))),
  ],
  [
    4,
    (world, dice) =>
      withEntry(world, dice, ({ id, session_id }) => move(world, dice, id, session_id)),
  ],
  [4, (world, dice) => withEntry(world, dice, ({ id }) => world.life.service.pause(id, null))],
  [5, (world, dice) => withEntry(world, dice, ({ id }) => world.life.service.resume(id))],
  [4, (world, dice) => withEntry(world, dice, ({ id }) => world.life.service.drop(id))],
  [
    2,
    (world, dice) =>
      world.life.service.pauseSession(dice.pick(world.sessions), {
        until: dice.chance(0.7) ? world.now() + dice.below(DAY) + 1 : null,
      }),
  ],
  [3, (world, dice) => world.life.service.resumeSession(dice.pick(world.sessions))],
  [1, (world, dice) => world.fail(dice.pick(world.sessions))],
  [3, (world, dice) => world.bringBack(dice.pick(world.sessions))],
  [2, (world, { below }) => world.jump(below(3 * DAY))],
  [2, (world, { below }) => world.jump(-below(12 * HOUR))],
  [0.1, (world, { below }) => world.jump(-below(20 * DAY))],
  [3, (world, dice) => kill(world, dice)],
];
const total = acts.reduce((sum, [weight]) => sum + weight, 0);

function anyAct(dice: Dice): Act {
  let at = (dice.below(1e6) / 1e6) * total;
  for (const [weight, act] of acts) if ((at -= weight) < 0) return act;
  return agentsWork;
}

async function agentsWork(world: World, dice: Dice): Promise<void> {
  for (const id of world.sessions)
    for (let turns = dice.below(4); turns > 0; turns--) {
      if (dice.chance(0.9)) await world.begin(id);
      if (dice.chance(0.8)) await world.end(id);
    }
}

function add({ life, sessions }: World, { pick }: Dice, more: object): Promise<QueueEntry> {
  return life.service.add(pick(sessions), { input: { type: 'text', text: 'x' }, ...more }, 'api');
}

async function withEntry(
  { life }: World,
  { pick }: Dice,
  act: (entry: QueueEntry) => Promise<unknown>,
): Promise<void> {
  const { records } = await life.service.list({ limit: 500 });
  if (records.length > 0) await act(pick(records));
}

function edit(world: World, dice: Dice) {
  if (dice.chance(0.3))
    return { name: `n${dice.below(9)}`, overlap: dice.pick(['skip', 'queue'] as const) };
  if (dice.chance(0.5)) return anyRhythm(dice);
  return { at: dice.chance(0.3) ? null : world.now() + dice.below(DAY) };
}

async function move({ life }: World, dice: Dice, id: string, session: string): Promise<unknown> {
  const { entries } = await life.service.ofSession(session);
  const place = dice.chance(0.5)
    ? { to: dice.pick(['first', 'last'] as const) }
    : { before: dice.pick(entries).id };
  return life.service.move(id, place);
}

/** Dies on the way of something, or between two things, and is away for some time. */
async function kill(world: World, dice: Dice): Promise<void> {
  const down = dice.chance(0.6) ? dice.below(10 * MINUTE) : dice.below(2 * DAY);
  const isIdle = dice.chance(0.3);
  const during = isIdle ? () => Promise.resolve() : () => dice.pick(mortal)(world, dice);
  await world.killDuring(during, down);
}
const mortal = acts.slice(2, 13).map(([, act]) => act);

async function live(seed: number, days: number): Promise<Judge['counts']> {
  await using directory = tempDirectory('queue');
  const dice = new Dice(seededRandom(seed));
  const world = await World.make(directory.path, START, 3);
  const judge = new Judge(rhythms);
  const backOff = world.db.prepare('SELECT 1 FROM holds WHERE session_id = ? AND since IS NULL');
  const isFree = (id: string) =>
    world.db.peek((rx) => world.life.inbox.isFree(rx, id) && !backOff.get(rx, id));
  let lived = 0;
  try {
    while (lived < days * DAY) {
      const before = world.now();
      await anyAct(dice)(world, dice).catch((error: unknown) => {
        if (!(error instanceof AppError)) throw error;
      });
      lived += Math.abs(world.now() - before);
      judge.take(world.takeEvents());
      judge.assertSettled(world.now(), isFree);
    }
    return judge.counts;
  } finally {
    await world.close();
  }
}

it(
  'Each run begins once or is reported as skipped, whatever is scheduled, changed, held and killed, and however the clock jumps.',
  { timeout: scaled(120_000 + DAYS * 2000) },
  async () => {
    const sums = { due: 0, begun: 0, skipped: 0, removed: 0, anew: 0 };
    for (let world = 0; world * WORLD_DAYS < DAYS; world++) {
      const seed = SEED + world;
      const counts = await live(seed, Math.min(WORLD_DAYS, DAYS)).catch((error: unknown) => {
        throw new Error(`with SEED=${seed}`, { cause: error });
      });
      for (const name of Object.keys(sums) as (keyof typeof sums)[]) sums[name] += counts[name];
    }
    if (DAYS > WORLD_DAYS) process.stdout.write(`queue: ${DAYS} days, ${JSON.stringify(sums)}\n`);
    // A single world may have few of one kind; the seed decides.
    const least = DAYS > WORLD_DAYS ? 10 : 0;
    expect(Math.min(sums.due, sums.begun, sums.skipped, sums.removed)).toBeGreaterThan(least);
  },
);
