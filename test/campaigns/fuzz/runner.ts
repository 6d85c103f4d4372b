import { createHash } from 'node:crypto';
import { setImmediate as nextLoop } from 'node:timers/promises';
import v8 from 'node:v8';
import { Worker } from 'node:worker_threads';
import { ProviderError } from '../../../src/agents/provider.ts';
import { AppError } from '../../../src/api/errors.ts';
import { ForeignFileError } from '../../../src/core/lib/foreign-file.ts';
import { seeded } from '../crash/random.ts';
import { mutated, type Seed } from './mutate.ts';

/** Code of the product that reads what others have written. */
export interface Target {
  /** The functions that get the inputs. */
  entry: string;
  seeds: readonly Seed[];
  /** Whether an error is a refusal that the entry documents, beside AppError, ProviderError and ForeignFileError. */
  isRefusal?: (error: unknown) => boolean;
  open(): Promise<Feeder>;
}

export interface Feeder extends AsyncDisposable {
  /** Gives an input to the entry; resolves when all work for it has ended. */
  feed(input: Seed): Promise<void> | void;
}

export interface Campaign {
  seed: number;
  inputs: number;
  /** The number of the first input. */
  from: number;
}

/** The results of a campaign. `read`: inputs that were not refused as a whole. */
export interface Figures {
  inputs: number;
  read: number;
  seconds: number;
  per_second: number;
  slowest_ms: number;
  slowest_input: number;
  largest_growth_mb: number;
  largest_input: number;
}

interface Finding {
  input: number;
  times: number;
  text: string;
}

/** The limits of one input. Only a campaign at length measures them. */
export const LIMITS = { ms: 2000, mb: 256 } as const;
const HANG_MS = 60_000;

/** The input of a number: the same one for the same seed, whatever came before it. */
export function inputOf(target: Target, name: string, seed: number, number: number): Seed {
  const salt = createHash('sha256').update(name).digest().readUInt32LE();
  const random = seeded((seed ^ salt) + Math.imul(number, 0x9e37_79b1));
  return mutated(random.pick(target.seeds), target.seeds, random);
}

/**
 * Feeds mutated inputs to a target. Resolves with the figures and each kind of error that is not a refusal: an exception,
 * an unhandled rejection, or a broken condition of the target.
 */
export async function fuzz(
  name: string,
  target: Target,
  { seed, inputs, from }: Campaign,
): Promise<{ figures: Figures; findings: string[] }> {
  const findings = new Map<string, Finding>();
  let number = from;
  const note = (error: unknown) => {
    const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
    const key = placeOf(text);
    const known = findings.get(key);
    if (known) known.times++;
    else findings.set(key, { input: number, times: 1, text });
  };
  const figures = { slowest_ms: 0, slowest_input: from, largest_growth_mb: 0, largest_input: from };
  let read = 0;
  using hang = watchForHang(name, seed);
  process.on('unhandledRejection', note).on('uncaughtException', note);
  const started = performance.now();
  try {
    await using feeder = await target.open();
    // An entry that refuses even the valid inputs would refuse all that is made of them.
    for (const valid of target.seeds) await feeder.feed(valid);
    for (; number < from + inputs; number++) {
      const input = inputOf(target, name, seed, number);
      hang.at(number);
      const [before, heap] = [performance.now(), heapBytes()];
      try {
        await feeder.feed(input);
        read++;
      } catch (error) {
        if (!isRefusal(error) && target.isRefusal?.(error) !== true) note(error);
      }
      await nextLoop();
      const [ms, mb] = [performance.now() - before, (heapBytes() - heap) / 2 ** 20];
      if (ms > figures.slowest_ms)
        Object.assign(figures, { slowest_ms: ms, slowest_input: number });
      if (mb > figures.largest_growth_mb)
        Object.assign(figures, { largest_growth_mb: mb, largest_input: number });
    }
  } finally {
    process.off('unhandledRejection', note).off('uncaughtException', note);
  }
  const seconds = (performance.now() - started) / 1000;
  return {
    figures: {
      inputs,
      read,
      seconds: rounded(seconds),
      per_second: Math.round(inputs / seconds),
      ...figures,
      slowest_ms: rounded(figures.slowest_ms),
      largest_growth_mb: rounded(figures.largest_growth_mb),
    },
    findings: [...findings.values()].map(
      ({ input, times, text }) =>
        `${times} inputs, first SEED=${seed} TARGET=${name} FROM=${input}: ${text}`,
    ),
  };
}

function isRefusal(error: unknown): boolean {
  return [AppError, ProviderError, ForeignFileError].some((type) => error instanceof type);
}

/** The kind of an error: its first line without numbers, and the place in the sources that threw it. */
function placeOf(stack: string): string {
  const [first = '', ...frames] = stack.split('\n');
  const frame = frames.find((line) => line.includes('/src/')) ?? frames[0] ?? '';
  return `${first.replaceAll(/[\d"'].*/g, '')} ${frame.replace(/:\d+\)?$/, '')}`;
}

function heapBytes(): number {
  const { used_heap_size, external_memory } = v8.getHeapStatistics();
  return used_heap_size + external_memory;
}

function rounded(value: number): number {
  return Math.round(value * 10) / 10;
}

/** Names an input that blocks this thread, and ends the process: nothing else could. */
function watchForHang(name: string, seed: number) {
  const shared = new Float64Array(new SharedArrayBuffer(16));
  const watch = `
    const { workerData: { shared, text, ms } } = require('node:worker_threads');
    let last = -1;
    setInterval(() => {
      if (shared[1] === 1 && shared[0] === last) {
        require('node:fs').writeSync(2, text + shared[0] + '\\n');
        process.kill(process.pid, 'SIGKILL');
      }
      last = shared[0];
    }, ms);`;
  const text = `fuzz: an input takes more than ${HANG_MS / 1000} s: SEED=${seed} TARGET=${name} FROM=`;
  const worker = new Worker(watch, { eval: true, workerData: { shared, text, ms: HANG_MS } });
  worker.unref();
  return {
    at(number: number) {
      shared[0] = number;
      shared[1] = 1;
    },
    [Symbol.dispose]() {
      shared[1] = 0;
      void worker.terminate();
    },
  };
}
