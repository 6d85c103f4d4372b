import { expect, it } from 'vitest';
import { scaled } from '../../support/patience.ts';
import { type Program, randomProgram, shrink } from './programs.ts';
import { Run } from './run.ts';
import { Server } from './server.ts';

/** The number of programs: `make model` runs 20,000. */
const PROGRAMS = Number(process.env.MODEL_PROGRAMS || 0) || 40;
const SEED = Number(process.env.SEED || 0) || Math.trunc(Date.now() % 1e9);
const FROM = Number(process.env.MODEL_FROM || 0);
/** One server runs so many programs, one after the other; then another one begins on an empty directory. */
const SERVER_PROGRAMS = 25;
const LENGTH = 40;
const START = 1_750_000_000_000;

/** Returns why a program fails on a server of its own; null if it does not. */
async function failureOf(program: Program): Promise<Error | null> {
  await using server = await Server.open(START);
  return await orFailure(Run.startTurn(server, program, 0));
}

async function orFailure(run: Promise<Run>): Promise<Error | null> {
  try {
    await run;
    return null;
  } catch (error) {
    return error as Error;
  }
}

it(
  'The server answers, changes its records and stores events as the model of its contract does.',
  { timeout: scaled(Math.max(120_000, PROGRAMS * 2000)) },
  async () => {
    console.log(`SEED=${SEED} MODEL_PROGRAMS=${PROGRAMS} MODEL_FROM=${FROM}`);
    let count = 0;
    while (count < PROGRAMS) {
      count += await runPrograms(FROM + count, Math.min(SERVER_PROGRAMS, PROGRAMS - count));
      if (count % 1000 === 0) console.log(`${count} programs`);
    }
    expect(count).toBe(PROGRAMS);
  },
);

/** Runs programs one after the other on one server. Returns their number. */
async function runPrograms(first: number, count: number): Promise<number> {
  await using server = await Server.open(START);
  for (let number = first; number < first + count; number++) {
    const program = randomProgram(SEED + number, LENGTH);
    const failure = await orFailure(Run.startTurn(server, program, number));
    if (failure) await report(program, failure, number);
  }
  return count;
}

/** Fails with the smallest program that fails, and the seed that repeats it. */
async function report(program: Program, failure: Error, number: number): Promise<never> {
  const seed = `make model SEED=${SEED} FROM=${number} N=1`;
  const alone = await failureOf(program);
  if (!alone) throw new Error(`${seed}, only behind the programs before it`, { cause: failure });
  const smallest = await shrink(program, async (one) => (await failureOf(one)) !== null);
  const cause = (await failureOf(smallest)) ?? alone;
  throw new Error(`${seed}: ${JSON.stringify(smallest)}`, { cause });
}
