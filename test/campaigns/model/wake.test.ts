import { expect, it } from 'vitest';
import { scaled } from '../../support/patience.ts';
import { below, type Random, seededRandom } from '../../support/random.ts';
import { checkAfterKill } from './after-cut.ts';
import { Core } from './core.ts';
import { Interleavings, type Move, Race } from './wake.ts';

/** The number of random interleavings: `make model` runs 100,000. */
const RACES = Number(process.env.WAKE_RACES || 0) || 50;
const SEED = Number(process.env.SEED || 0) || Math.trunc(Date.now() % 1e9);
const FROM = Number(process.env.WAKE_FROM || 0);
const isWhole = RACES >= 10_000;
/** One core runs so many races, one after the other; then another one begins on an empty directory. */
const CORE_RACES = 500;
/** One in so many random races ends by a kill. */
const KILLS = 100;

const small: readonly [isBusy: boolean, moves: readonly Move[]][] = [
  [true, ['non_interrupting', 'end']],
  [false, ['non_interrupting', 'send']],
  [true, ['non_interrupting', 'lose agent', 'retry time']],
];
const whole: typeof small = [
  ...small,
  [false, ['non_interrupting', 'immediate_interrupt']],
  [true, ['non_interrupting', 'non_interrupting', 'end']],
  [true, ['non_interrupting', 'end', 'close']],
  [true, ['non_interrupting', 'end', 'leave']],
  [true, ['non_interrupting', 'end', 'cancel']],
  [true, ['non_interrupting', 'interrupt', 'send']],
  [true, ['immediate_interrupt', 'end', 'interrupt']],
  [true, ['interrupt_after_tool_boundary', 'queue', 'end']],
  [true, ['start_new_turn_only', 'non_interrupting', 'end']],
  [false, ['non_interrupting', 'queue', 'send']],
  [true, ['immediate_interrupt', 'immediate_interrupt', 'end']],
];

it.each(isWhole ? whole : small)(
  'Each order of the transactions delivers each message once and wakes its recipient (busy: %s; %j).',
  { timeout: scaled(600_000) },
  async (isBusy, moves) => {
    await using core = await Core.open();
    const interleavings = new Interleavings();
    let count = 0;
    for (let choose = interleavings.next(); choose; choose = interleavings.next()) {
      const race = await Race.open(core, isBusy);
      await race.run(moves, choose);
      await race.judge();
      interleavings.advance();
      count += 1;
    }
    console.log(`${moves.join(', ')}: ${count} interleavings`);
    expect(count).toBeGreaterThan(1);
  },
);

const stops: readonly (readonly Move[])[] = [
  ['non_interrupting', 'end'],
  ['non_interrupting', 'stop'],
  ['non_interrupting', 'end', 'stop'],
];

it.each(isWhole ? stops : stops.slice(0, 1))(
  'After a kill between any two transactions, the next server delivers each message once (%j and %j).',
  { timeout: scaled(600_000) },
  async (...moves) => {
    let count = 0;
    for (let cut = 0, isLonger = true; isLonger; cut++) {
      isLonger = false;
      const interleavings = new Interleavings();
      for (let choose = interleavings.next(); choose; choose = interleavings.next()) {
        await using core = await Core.open();
        const race = await Race.open(core, true);
        await race.run(moves, choose, cut);
        await checkAfterKill(core, race);
        isLonger ||= race.steps === cut;
        interleavings.advance();
        count += 1;
      }
    }
    console.log(`${moves.join(', ')}: ${count} kills`);
    expect(count).toBeGreaterThan(1);
  },
);

const moves: readonly Move[] = [
  'non_interrupting',
  'non_interrupting',
  'non_interrupting',
  'start_new_turn_only',
  'interrupt_after_tool_boundary',
  'immediate_interrupt',
  'immediate_interrupt',
  'end',
  'end',
  'end',
  'fail',
  'lose agent',
  'interrupt',
  'send',
  'queue',
  'retry time',
  'cancel',
  'leave',
  'close',
];

it(
  'Random orders of the transactions of more requests deliver each message once and wake its recipient.',
  { timeout: scaled(Math.max(120_000, RACES * 500)) },
  async () => {
    console.log(`SEED=${SEED} WAKE_RACES=${RACES} WAKE_FROM=${FROM}`);
    let steps = 0;
    for (let first = FROM; first < FROM + RACES; first += CORE_RACES) {
      const end = Math.min(first + CORE_RACES, FROM + RACES);
      steps += await runRaces(first, end);
      if (isWhole) console.log(`${end - FROM} races`);
    }
    console.log(`${RACES} races, ${(steps / RACES).toFixed(1)} steps each`);
    expect(steps).toBeGreaterThan(RACES);
  },
);

async function runRaces(first: number, end: number): Promise<number> {
  let steps = 0;
  await using core = await Core.open();
  for (let number = first; number < end; number++) {
    const random = seededRandom(SEED + number);
    const race = await Race.open(core, random() < 0.7);
    await runRace(core, race, random, number % KILLS === 0).catch((error: unknown) => {
      throw new Error(`make wake SEED=${SEED} FROM=${number} N=1`, { cause: error });
    });
    steps += race.steps;
  }
  return steps;
}

async function runRace(core: Core, race: Race, random: Random, isKilled: boolean): Promise<void> {
  const chosen = Array.from(
    { length: 3 + below(6, random) },
    () => moves[below(moves.length, random)] ?? 'end',
  );
  const choose = (count: number) => below(count, random);
  if (isKilled) {
    await race.run(chosen, choose, below(12, random));
    await checkAfterKill(core, race);
  } else await race.run(chosen, choose);
  await race.judge();
}
