import path from 'node:path';
import { PassThrough } from 'node:stream';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  type OutputPayload,
  ProcessOutput,
  type StreamName,
} from '../../../../src/server/work/processes/output.ts';
import { tempDirectory } from '../../../support/temp.ts';
import { ManualClock } from '../../../support/manual-clock.ts';

const MIB = 1024 * 1024;
const BUDGET = 256 * 1024;

interface Announced extends OutputPayload {
  at: number;
}

/** A process's two pipes in the hands of a test. */
interface Pipes {
  clock: ManualClock;
  output: ProcessOutput;
  announced: Announced[];
  /** Prints; resolves once the output is in the file. */
  print(bytes: Buffer | string, stream?: StreamName): Promise<void>;
  /** Prints, and advances the clock until the output is reported. */
  printAndWait(bytes: Buffer | string, stream?: StreamName): Promise<void>;
  /** Ends the process. */
  end(): Promise<void>;
}

async function withPipes(test: (pipes: Pipes) => Promise<void>, capBytes = 20 * MIB) {
  await using place = tempDirectory('output');
  const clock = new ManualClock();
  const announced: Announced[] = [];
  const taken: (() => void)[] = [];
  const output = new ProcessOutput({
    pathOf: (stream) => path.join(place.path, stream),
    capBytes,
    clock,
    announce: (news) => void announced.push({ ...news, at: clock.monotonic() }),
    onChunk: () => taken.shift()?.(),
    onError(error) {
      throw error;
    },
  });
  const pipes = { stdout: new PassThrough(), stderr: new PassThrough() };
  output.collect({ ...pipes, acknowledge: () => undefined, endOutputs: () => false });
  const print = (bytes: Buffer | string, stream: StreamName = 'stdout') =>
    new Promise<void>((resolve) => {
      taken.push(resolve);
      pipes[stream].write(bytes);
    });
  await test({
    clock,
    output,
    announced,
    print,
    async printAndWait(bytes, stream) {
      await print(bytes, stream);
      clock.advance(1000);
    },
    async end() {
      for (const pipe of Object.values(pipes)) pipe.end();
      await output.drain();
      output.flush();
    },
  });
}

test('Output is reported 100 ms after its first byte, together with the output until then.', () =>
  withPipes(async ({ clock, print, announced, end }) => {
    await print('one ');
    clock.advance(60);
    await print('two ');
    clock.advance(39);
    expect(announced).toEqual([]);
    clock.advance(1);
    expect(announced).toEqual([
      { stream: 'stdout', offset: 0, bytes: 8, text: 'one two ', at: 100 },
    ]);
    await print('three');
    await print('!', 'stderr');
    clock.advance(100);
    expect(announced.slice(1)).toEqual([
      { stream: 'stdout', offset: 8, bytes: 5, text: 'three', at: 200 },
      { stream: 'stderr', offset: 0, bytes: 1, text: '!', at: 200 },
    ]);
    await end();
    expect(announced).toHaveLength(3);
  }));

test('An event of output has at most its first 4 KiB.', () =>
  withPipes(async ({ printAndWait, announced, end }) => {
    await printAndWait('x'.repeat(5000));
    await printAndWait('y'.repeat(4096));
    expect(announced).toMatchObject([
      { offset: 0, bytes: 5000, text: 'x'.repeat(4096) },
      { offset: 5000, bytes: 4096, text: 'y'.repeat(4096) },
    ]);
    await end();
  }));

test('Output is reported in whole characters: the first half of a character waits for the second.', () =>
  withPipes(async ({ printAndWait, announced, end }) => {
    const bytes = Buffer.from('a🙂b');
    await printAndWait(bytes.subarray(0, 3));
    await printAndWait(bytes.subarray(3, 4));
    expect(announced).toMatchObject([{ offset: 0, bytes: 1, text: 'a' }]);
    await printAndWait(bytes.subarray(4));
    expect(announced[1]).toMatchObject({ offset: 1, bytes: 5, text: '🙂b' });
    await printAndWait(bytes.subarray(1, 3));
    expect(announced).toHaveLength(2);
    await end();
    expect(announced[2]).toMatchObject({
      offset: 6,
      bytes: 2,
      text: expect.stringMatching(/^\uFFFD/),
    });
  }));

test('Output is reported without gap or repetition, in whole characters, however it arrives.', () =>
  fc.assert(
    fc.asyncProperty(
      fc.string({
        unit: fc.constantFrom('a', 'é', '漢', '🙂', '漢🙂'.repeat(900)),
        maxLength: 8,
      }),
      fc.array(fc.integer({ min: 1, max: 4000 }), { minLength: 1, maxLength: 12 }),
      fc.boolean(),
      (whole, sizes, isJoined) =>
        withPipes(async ({ print, printAndWait, announced, end }) => {
          const bytes = Buffer.from(whole);
          for (let at = 0, i = 0; at < bytes.length; i++) {
            const next = at + (sizes[i % sizes.length] ?? 1);
            await (isJoined ? print : printAndWait)(bytes.subarray(at, next));
            at = next;
          }
          await end();
          let offset = 0;
          for (const one of announced) {
            expect(one.offset).toBe(offset);
            const text = bytes.subarray(offset, offset + one.bytes).toString();
            expect(text.startsWith(one.text)).toBe(true);
            expect(Buffer.byteLength(one.text)).toBeGreaterThanOrEqual(Math.min(one.bytes, 4093));
            offset += one.bytes;
          }
          expect(offset).toBe(bytes.length);
        }),
    ),
    { numRuns: 60 },
  ));

test.for(['x', '漢', '🙂'])(
  'Output after 256 KiB of text is reported by offset alone, twice a second: %s.',
  (character) =>
    withPipes(async ({ clock, print, announced, end }) => {
      const chunk = character.repeat(Math.floor(4096 / Buffer.byteLength(character)));
      for (let i = 0; i < 120; i++) {
        await print(chunk);
        clock.advance(100);
      }
      const text = announced.map((one) => one.text).join('');
      expect(Buffer.byteLength(text)).toBeLessThanOrEqual(BUDGET);
      expect(Buffer.byteLength(text)).toBeGreaterThan(BUDGET - 4);
      const seldom = announced.filter((one) => one.text === '');
      expect(seldom.length).toBeGreaterThan(5);
      for (const [i, { at }] of seldom.entries())
        if (i > 0) expect(at - (seldom[i - 1]?.at ?? 0)).toBeGreaterThanOrEqual(500);
      await end();
      const all = announced.reduce((sum, { bytes }) => sum + bytes, 0);
      expect(all).toBe(120 * Buffer.byteLength(chunk));
    }),
);

test('Both streams of a process share the 256 KiB of text in events.', () =>
  withPipes(async ({ clock, print, announced, end }) => {
    for (let i = 0; i < 70; i++) {
      await print('x'.repeat(4096));
      await print('y'.repeat(4096), 'stderr');
      clock.advance(100);
    }
    const text = announced.map((one) => one.text).join('');
    expect(text.length).toBe(BUDGET);
    await end();
  }));

test('When a stream exceeds its output limit, its further output is not reported, and the other stream continues.', () =>
  withPipes(async ({ printAndWait, announced, output, end }) => {
    for (let i = 0; i < 5; i++) await printAndWait('x'.repeat(1000));
    await printAndWait('y'.repeat(10), 'stderr');
    expect(announced.map(({ stream, offset }) => [stream, offset])).toEqual([
      ['stdout', 0],
      ['stdout', 1000],
      ['stdout', 2000],
      ['stderr', 0],
    ]);
    await end();
    expect(output.totals).toEqual({
      stdout_bytes: 5000,
      stderr_bytes: 10,
      stdout_truncated: true,
      stderr_truncated: false,
    });
  }, 3000));

test('A program that holds the pipe open does not prevent the end of the output.', () =>
  withPipes(async ({ clock, print, output }) => {
    await print('all there is');
    await runToEnd(output.drain(), clock);
    expect(output.totals.stdout_bytes).toBe(12);
  }));

test('Output just before the end is kept if the clock is ahead of the reads.', () =>
  withPipes(async ({ clock, print, output }) => {
    const finished = output.drain();
    // As on a machine that is late: time has passed, and nobody has looked at the pipes yet.
    for (let i = 0; i < 20; i++) {
      clock.advance(100);
      await Promise.resolve();
    }
    const late = print('late');
    await runToEnd(finished, clock);
    await late;
    expect(output.totals.stdout_bytes).toBe(4);
  }));

test('Output just before the end is kept if the disk is slower than the process.', () =>
  withPipes(async ({ clock, print, output }) => {
    const chunk = 'x'.repeat(MIB);
    for (let i = 0; i < 15; i++) void print(chunk);
    await runToEnd(output.drain(), clock);
    expect(output.totals.stdout_bytes).toBe(15 * MIB);
  }));

/** Lets time run, much faster than a disk, until it is done. */
async function runToEnd(done: Promise<void>, clock: ManualClock): Promise<void> {
  let isOver = false;
  void done.then(() => (isOver = true));
  while (!isOver) {
    clock.advance(10);
    await new Promise((resolve) => setImmediate(resolve));
  }
}
