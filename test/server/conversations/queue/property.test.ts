import { expect, it } from 'vitest';
import type { QueueEntry } from '../../../../src/api/queue.ts';
import { AppError } from '../../../../src/api/errors.ts';
import { atLength } from '../../../support/at-length.ts';
import { scaled } from '../../../support/patience.ts';
import { QueueChecker, type Schedule } from './queue-checker.ts';
import { DAY, HOUR, MINUTE } from '../../../support/queue/queue.ts';
import { QueueHarness } from './queue-harness.ts';
import { type Random, seededRandom } from '../../../support/random.ts';
import { tempDirectory } from '../../../support/temp.ts';

/** `make queue`: 10,000 virtual days; in the suite one part in two hundred. */
const DAYS = Number(process.env.QUEUE_DAYS ?? atLength(50, 100, 100));
const SEED = Number(process.env.SEED || 0) || Math.trunc(Date.now() % 1e9);
/** Days of one run; the next run has the next seed. */
const RUN_DAYS = 100;
const START = Date.UTC(2026, 0, 1);

const schedules: readonly Schedule[] = [
  { every: '0 */4 * * *', period: 4 * HOUR, offset: 0 },
  { every: '17 * * * *', period: HOUR, offset: 17 * MINUTE },
  { every: '45 6 * * *', period: DAY, offset: 6 * HOUR + 45 * MINUTE },
  { every: '0 21 * * *', period: DAY, offset: 21 * HOUR },
  // The epoch was a Thursday.
  { every: '30 12 * * THU', period: 7 * DAY, offset: 12 * HOUR + 30 * MINUTE },
];

const anySchedule = ({ pick }: Dice) =>
  ({ every: pick(schedules).every, time_zone: 'UTC' }) as const;

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
type Act = (harness: QueueHarness, dice: Dice) => Promise<unknown>;
const acts: readonly [weight: number, act: Act][] = [
  [14, (harness, { below }) => harness.pass(below(HOUR) + 1)],
  [14, (harness, { below }) => harness.pass(below(8 * HOUR) + 1)],
  [20, agentsWork],
  [3, (harness, dice) => add(harness, dice, {})],
  [4, (harness, dice) => add(harness, dice, { at: harness.now() + dice.below(2 * DAY) - HOUR })],
  [
    5,
    (harness, dice) =>
      add(harness, dice, { ...anySchedule(dice), overlap: dice.pick(['skip', 'queue'] as const) }),
  ],
  [
    3,
    (harness, dice) =>
      withEntry(harness, dice, ({ id }) => harness.serverRun.service.edit(id, edit(harness, dice))),
  ],
  [
    4,
    (harness, dice) =>
      withEntry(harness, dice, ({ id, session_id }) => move(harness, dice, id, session_id)),
  ],
  [
    4,
    (harness, dice) =>
      withEntry(harness, dice, ({ id }) => harness.serverRun.service.pause(id, null)),
  ],
  [
    5,
    (harness, dice) => withEntry(harness, dice, ({ id }) => harness.serverRun.service.resume(id)),
  ],
  [4, (harness, dice) => withEntry(harness, dice, ({ id }) => harness.serverRun.service.drop(id))],
  [
    2,
    (harness, dice) =>
      harness.serverRun.service.pauseSession(dice.pick(harness.sessions), {
        until: dice.chance(0.7) ? harness.now() + dice.below(DAY) + 1 : null,
      }),
  ],
  [3, (harness, dice) => harness.serverRun.service.resumeSession(dice.pick(harness.sessions))],
  [1, (harness, dice) => harness.fail(dice.pick(harness.sessions))],
  [3, (harness, dice) => harness.bringBack(dice.pick(harness.sessions))],
  [2, (harness, { below }) => harness.jump(below(3 * DAY))],
  [2, (harness, { below }) => harness.jump(-below(12 * HOUR))],
  [0.1, (harness, { below }) => harness.jump(-below(20 * DAY))],
  [3, (harness, dice) => kill(harness, dice)],
];
const total = acts.reduce((sum, [weight]) => sum + weight, 0);

function anyAct(dice: Dice): Act {
  let at = (dice.below(1e6) / 1e6) * total;
  for (const [weight, act] of acts) if ((at -= weight) < 0) return act;
  return agentsWork;
}

async function agentsWork(harness: QueueHarness, dice: Dice): Promise<void> {
  for (const id of harness.sessions)
    for (let turns = dice.below(4); turns > 0; turns--) {
      if (dice.chance(0.9)) await harness.begin(id);
      if (dice.chance(0.8)) await harness.end(id);
    }
}

function add(
  { serverRun, sessions }: QueueHarness,
  { pick }: Dice,
  more: object,
): Promise<QueueEntry> {
  return serverRun.service.add(
    pick(sessions),
    { input: { type: 'text', text: 'x' }, ...more },
    'api',
  );
}

async function withEntry(
  { serverRun }: QueueHarness,
  { pick }: Dice,
  act: (entry: QueueEntry) => Promise<unknown>,
): Promise<void> {
  const { records } = await serverRun.service.list({ limit: 500 });
  if (records.length > 0) await act(pick(records));
}

function edit(harness: QueueHarness, dice: Dice) {
  if (dice.chance(0.3))
    return { name: `n${dice.below(9)}`, overlap: dice.pick(['skip', 'queue'] as const) };
  if (dice.chance(0.5)) return anySchedule(dice);
  return { at: dice.chance(0.3) ? null : harness.now() + dice.below(DAY) };
}

async function move(
  { serverRun }: QueueHarness,
  dice: Dice,
  id: string,
  session: string,
): Promise<unknown> {
  const { entries } = await serverRun.service.ofSession(session);
  const place = dice.chance(0.5)
    ? { to: dice.pick(['first', 'last'] as const) }
    : { before: dice.pick(entries).id };
  return serverRun.service.move(id, place);
}

/** Dies on the way of something, or between two things, and is away for some time. */
async function kill(harness: QueueHarness, dice: Dice): Promise<void> {
  const down = dice.chance(0.6) ? dice.below(10 * MINUTE) : dice.below(2 * DAY);
  const isIdle = dice.chance(0.3);
  const during = isIdle ? () => Promise.resolve() : () => dice.pick(actsDuringKill)(harness, dice);
  await harness.killDuring(during, down);
}
const actsDuringKill = acts.slice(2, 13).map(([, act]) => act);

async function runDays(seed: number, days: number): Promise<QueueChecker['counts']> {
  await using directory = tempDirectory('queue');
  const dice = new Dice(seededRandom(seed));
  const harness = await QueueHarness.make(directory.path, START, 3);
  const checker = new QueueChecker(schedules);
  const backOff = harness.db.prepare('SELECT 1 FROM holds WHERE session_id = ? AND since IS NULL');
  const isFree = (id: string) =>
    harness.db.peek((rx) => harness.serverRun.inbox.isFree(rx, id) && !backOff.get(rx, id));
  let lived = 0;
  try {
    while (lived < days * DAY) {
      const before = harness.now();
      await anyAct(dice)(harness, dice).catch((error: unknown) => {
        if (!(error instanceof AppError)) throw error;
      });
      lived += Math.abs(harness.now() - before);
      checker.take(harness.takeEvents());
      checker.assertSettled(harness.now(), isFree);
    }
    return checker.counts;
  } finally {
    await harness.close();
  }
}

it(
  'Each run begins once or is reported as skipped, whatever is scheduled, changed, held and killed, and however the clock jumps.',
  { timeout: scaled(120_000 + DAYS * 2000) },
  async () => {
    const sums = { due: 0, begun: 0, skipped: 0, removed: 0, anew: 0 };
    for (let run = 0; run * RUN_DAYS < DAYS; run++) {
      const seed = SEED + run;
      const counts = await runDays(seed, Math.min(RUN_DAYS, DAYS)).catch((error: unknown) => {
        throw new Error(`with SEED=${seed}`, { cause: error });
      });
      for (const name of Object.keys(sums) as (keyof typeof sums)[]) sums[name] += counts[name];
    }
    if (DAYS > RUN_DAYS) process.stdout.write(`queue: ${DAYS} days, ${JSON.stringify(sums)}\n`);
    // A single run may have few of one kind; the seed decides.
    const least = DAYS > RUN_DAYS ? 10 : 0;
    expect(Math.min(sums.due, sums.begun, sums.skipped, sums.removed)).toBeGreaterThan(least);
  },
);
