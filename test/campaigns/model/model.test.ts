import { expect, it } from 'vitest';
import { scaled } from '../../support/patience.ts';
import { type Program, randomProgram, shrink } from './programs.ts';
import { Run } from './run.ts';
import { Server } from './server.ts';

/** The number of programs: `make model` runs 20,000. */
const PROGRAMS = Number(process.env.MODEL_PROGRAMS || 0) || 100;
const SEED = Number(process.env.SEED || 0) || Math.trunc(Date.now() % 1e9);
const FROM = Number(process.env.MODEL_FROM || 0);
/** One server runs so many programs, one after the other; then another one begins on an empty directory. */
const SERVER_PROGRAMS = 25;
const LENGTH = 40;
const START = 1_750_000_000_000;

/** Returns why a program fails on a server of its own; null if it does not. */
async function failureOf(program: Program): Promise<Error | null> {
  await using server = await Server.open(START);
  return Run.play(server, program, 0).then(
    () => null,
    (error: unknown) => error as Error,
  );
}

it(
  'The server answers, changes its records and stores events as the model of its contract does.',
  { timeout: scaled(Math.max(120_000, PROGRAMS * 2000)) },
  async () => {
    console.log(`SEED=${SEED} MODEL_PROGRAMS=${PROGRAMS} MODEL_FROM=${FROM}`);
    for (let first = FROM; first < FROM + PROGRAMS; first += SERVER_PROGRAMS) {
      await using server = await Server.open(START);
      const end = Math.min(first + SERVER_PROGRAMS, FROM + PROGRAMS);
      for (let number = first; number < end; number++) {
        const program = randomProgram(SEED + number, LENGTH);
        const failure = await Run.play(server, program, number).catch(
          (error: unknown) => error as Error,
        );
        if (failure instanceof Error) await report(program, failure, number);
      }
    }
  },
);

/** Fails with the smallest program that fails, and the seed that repeats it. */
async function report(program: Program, failure: Error, number: number): Promise<never> {
  const seed = `SEED=${SEED} MODEL_FROM=${number} MODEL_PROGRAMS=1`;
  const alone = await failureOf(program);
  if (!alone) throw new Error(`${seed}, only behind the programs before it`, { cause: failure });
  const smallest = await shrink(program, async (one) => (await failureOf(one)) !== null);
  throw new Error(`${seed}: ${JSON.stringify(smallest)}`, {
    cause: (await failureOf(smallest)) ?? alone,
  });
}
