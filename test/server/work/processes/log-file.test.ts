import fs from 'node:fs';
import path from 'node:path';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  LogFile,
  logPath,
  measureLog,
  readLog,
  readLogEnd,
  removeLogs,
} from '../../../../src/server/work/processes/log-file.ts';
import { atLength } from '../../../support/at-length.ts';
import { tempDirectory, testDirectory } from '../../../support/temp.ts';

/** Returns output bytes that depend on their position, so that a byte in a wrong position is noticed. */
function printed(from: number, length: number): Buffer {
  const bytes = Buffer.allocUnsafe(length);
  for (let i = 0; i < length; i++) bytes[i] = ((from + i) * 167 + ((from + i) >> 8)) % 251;
  return bytes;
}

/** Returns the bounds of the dropped part of a log of `total` bytes, which keeps the first and last half of the cap. */
function kept(total: number, cap: number): { head: number; tail: number } {
  if (total <= cap) return { head: total, tail: total };
  const head = Math.floor(cap / 2);
  return { head, tail: total - (cap - head) };
}

/** Returns the expected read: it starts at the first kept byte from `from` on, and ends before a dropped part. */
function expected(total: number, cap: number, from: number, limit: number) {
  const { head, tail } = kept(total, cap);
  const start = Math.min(from < head ? from : Math.max(from, tail), total);
  const end = Math.min(start + limit, start < head ? head : total);
  return { from: start, bytes: printed(start, Math.max(0, end - start)) };
}

async function withLog<T>(
  chunks: readonly number[],
  cap: number,
  work: (file: string, total: number) => Promise<T>,
): Promise<T> {
  await using place = tempDirectory('log');
  const file = path.join(place.path, 'log');
  const log = new LogFile(file, cap);
  let total = 0;
  for (const length of chunks) {
    await log.append(printed(total, length));
    total += length;
  }
  expect(log.total).toBe(total);
  await log.close();
  return await work(file, total);
}

const cap = fc.integer({ min: 1, max: 70 });
const chunks = fc.array(fc.integer({ min: 0, max: 100 }), { maxLength: 12 });
const position = fc.integer({ min: 0, max: 900 });

test('A log returns the same bytes as a simple model for any writes, caps and reads.', () =>
  fc.assert(
    fc.asyncProperty(chunks, cap, position, position, (lengths, bytes, from, limit) =>
      withLog(lengths, bytes, async (file, total) => {
        const verified = fs.existsSync(file);
        expect(await measureLog(file)).toEqual({ total, truncated: total > bytes, verified });
        expect(await readLog(file, from, limit)).toEqual(expected(total, bytes, from, limit));
        const size = fs.existsSync(file) ? fs.statSync(file).size : 0;
        expect(size).toBe(Math.min(total, bytes));
      }),
    ),
    { numRuns: atLength(75, 300, 300) },
  ));

test('The end of a log has the stored part of its last bytes.', () =>
  fc.assert(
    fc.asyncProperty(chunks, cap, position, (lengths, bytes, limit) =>
      withLog(lengths, bytes, async (file, total) => {
        const { tail } = kept(total, bytes);
        const from = total > bytes ? Math.max(tail, total - limit) : Math.max(0, total - limit);
        expect(await readLogEnd(file, limit)).toEqual({
          from,
          bytes: printed(from, total - from),
        });
      }),
    ),
    { numRuns: atLength(75, 300, 300) },
  ));

test('A log that is read in pieces returns every stored byte exactly once.', () =>
  fc.assert(
    fc.asyncProperty(chunks, cap, fc.integer({ min: 1, max: 50 }), (lengths, bytes, limit) =>
      withLog(lengths, bytes, async (file, total) => {
        const seen: number[] = [];
        for (let next = 0; ;) {
          const range = await readLog(file, next, limit);
          if (range.bytes.length === 0) break;
          for (let i = 0; i < range.bytes.length; i++) seen.push(range.from + i);
          next = range.from + range.bytes.length;
        }
        const { head, tail } = kept(total, bytes);
        const all = Array.from({ length: total }, (_, i) => i);
        expect(seen).toEqual(all.filter((i) => i < head || i >= tail));
      }),
    ),
    { numRuns: atLength(50, 200, 200) },
  ));

test('A log without output is empty.', async () => {
  const file = path.join(testDirectory('log'), 'none');
  expect(await measureLog(file)).toEqual({ total: 0, truncated: false, verified: false });
  expect(await readLog(file, 5, 10)).toEqual({ from: 0, bytes: Buffer.alloc(0) });
  expect(await readLogEnd(file, 10)).toEqual({ from: 0, bytes: Buffer.alloc(0) });
});

const CHUNKS = Array.from({ length: 60 }, (_, i) => 1 + ((i * 7919) % 9000));
const damaged: unknown = expect.objectContaining({ code: 'storage_damaged' });

/** Reads the whole log piece by piece. */
async function readAll(file: string): Promise<void> {
  for (let next = 0; ;) {
    const { from, bytes } = await readLog(file, next, 50_000);
    expect(bytes.equals(printed(from, bytes.length))).toBe(true);
    if (bytes.length === 0) return;
    next = from + bytes.length;
  }
}

describe.each([
  ['that has all of the output', 1_000_000],
  ['that has dropped a part of the output', 150_000],
])('%s', (_, cap) => {
  test('A log is verified by checksums of blocks that were written once and of overwritten blocks.', () =>
    withLog(CHUNKS, cap, async (file) => {
      expect(await measureLog(file)).toMatchObject({ verified: true });
      await readAll(file);
    }));

  test.each(
    Object.entries<(bytes: Buffer) => Buffer>({
      'one changed bit': (bytes) => ((bytes[bytes.length - 9]! ^= 4), bytes),
      zeros: (bytes) => bytes.fill(0, 70_000, 70_512),
      'its end missing': (bytes) => bytes.subarray(0, bytes.length - 10),
      'an added byte': (bytes) => Buffer.concat([bytes, Buffer.from('x')]),
      'nothing in it': (bytes) => bytes.subarray(0, 0),
      'two blocks that have changed places': (bytes) =>
        Buffer.concat([
          bytes.subarray(65_536, 131_072),
          bytes.subarray(0, 65_536),
          bytes.subarray(131_072),
        ]),
    }),
  )('A log is storage_damaged with %s.', (_what, change) =>
    withLog(CHUNKS, cap, async (file) => {
      fs.writeFileSync(file, change(fs.readFileSync(file)));
      await expect(readAll(file)).rejects.toEqual(damaged);
    }),
  );
});

test('The intact blocks of a log with a corrupt block can be read.', () =>
  withLog(CHUNKS, 1_000_000, async (file, total) => {
    const bytes = fs.readFileSync(file);
    bytes[3]! ^= 1;
    fs.writeFileSync(file, bytes);
    const { from, bytes: end } = await readLogEnd(file, 1000);
    expect(end.equals(printed(from, 1000))).toBe(true);
    expect(from).toBe(total - 1000);
    await expect(readLog(file, 65_000, 10)).rejects.toEqual(damaged);
  }));

test('A log is storage_damaged if its layout file is changed or missing.', () =>
  withLog(CHUNKS, 150_000, async (file) => {
    const layout = `${file}.printed`;
    const text = fs.readFileSync(layout, 'utf8');
    fs.writeFileSync(layout, text.replaceAll('1', '2'));
    await expect(measureLog(file)).rejects.toEqual(damaged);
    fs.rmSync(layout);
    await expect(readLogEnd(file, 10)).rejects.toEqual(damaged);
  }));

test('A log is read without verification if its checksums are missing or corrupt.', () =>
  withLog(CHUNKS, 150_000, async (file) => {
    const sums = `${file}.sums`;
    const text = fs.readFileSync(sums, 'utf8');
    for (const other of [text.slice(0, -5), text.replace(/\d/, '7'), '']) {
      fs.writeFileSync(sums, other);
      expect(await measureLog(file)).toMatchObject({ verified: false });
      await readAll(file);
    }
    fs.rmSync(sums);
    expect(await measureLog(file)).toMatchObject({ verified: false });
  }));

test('The logs of a process are removed with their layouts and checksums, and their sizes are counted.', async () => {
  await using place = tempDirectory('log');
  for (const stream of ['stdout', 'stderr'] as const) {
    const log = new LogFile(logPath(place.path, 'proc_1', stream), 100);
    await log.append(printed(0, 300));
    await log.close();
  }
  const names = fs.readdirSync(place.path);
  expect(names).toHaveLength(6);
  const sizes = names.map((name) => fs.statSync(path.join(place.path, name)).size);
  expect(await removeLogs(place.path, 'proc_1')).toBe(sizes.reduce((sum, size) => sum + size));
  expect(fs.readdirSync(place.path)).toEqual([]);
});

test.for([
  ['less than its cap', 10_000_000],
  ['much more than its cap', 10_000],
  ['a little more than its cap', 1_900_000],
] as const)(
  'A log that is read during writes has no byte at a wrong position: %s.',
  async ([, bytes]) => {
    const file = path.join(testDirectory('log'), 'log');
    const log = new LogFile(file, bytes);
    let over = false;
    const write = async () => {
      for (let i = 0; i < 400; i++) await log.append(printed(log.total, (i * 997) % 9973));
      over = true;
    };
    const read = async (turn: number) => {
      for (let at = turn; !over; at += 7919) {
        const from = turn % 2 === 0 ? Math.max(0, log.total - (at % 12_000)) : at % 2_000_000;
        const range = await readLog(file, from, 1 + (at % 9000));
        expect(range.bytes.equals(printed(range.from, range.bytes.length))).toBe(true);
      }
    };
    await Promise.all([write(), ...[1, 2, 3, 4].map(read)]);
    await log.close();
  },
);

test.for(['9', '9 9', '-4 9 9', '0.5 9 9', '4 Infinity 9', '4 9 9e99', 'a b c'])(
  'A log of a killed server with the damaged layout %o is read as the plain output that the file has.',
  async (layout) => {
    const directory = testDirectory();
    const file = logPath(directory, 'proc_1', 'stdout');
    fs.writeFileSync(file, 'abcdef');
    fs.writeFileSync(`${file}.printed`, `${layout}\n`);
    expect(await measureLog(file)).toEqual({ total: 6, truncated: false, verified: false });
    expect((await readLog(file, 2, 3)).bytes.toString()).toBe('cde');
    expect((await readLogEnd(file, 2)).bytes.toString()).toBe('ef');
  },
);

/** The files of a log as a killed server leaves them: from before and after a write, byte by byte. */
function mixOf(before: Buffer, after: Buffer, isWritten: (at: number) => boolean): Buffer {
  const size = Math.max(before.length, after.length);
  let end = before.length;
  while (end < size && isWritten(end)) end++;
  const isNew = (at: number) => at >= before.length || (at < after.length && isWritten(at));
  return Buffer.from(Array.from({ length: end }, (_, at) => (isNew(at) ? after : before)[at] ?? 0));
}

test('A log that another server continues, wherever a kill interrupted a write, has the same bytes as an uncut log.', () =>
  fc.assert(
    fc.asyncProperty(
      fc.array(fc.integer({ min: 1, max: 100 }), { minLength: 1, maxLength: 8 }),
      cap,
      fc.nat(7),
      fc.integer({ min: 0, max: 120 }),
      async (lengths, bytes, cutAt, written) => {
        await using place = tempDirectory('log');
        const file = path.join(place.path, 'log');
        const layoutFile = `${file}.printed`;
        const read = (name: string) => (fs.existsSync(name) ? fs.readFileSync(name) : Buffer.of());
        const cut = Math.min(cutAt, lengths.length - 1);
        let log = new LogFile(file, bytes);
        let total = 0;
        for (const [at, length] of lengths.entries()) {
          if (at !== cut) await log.append(printed(log.total, length));
          else {
            const before = read(file);
            await log.append(printed(total, length));
            const after = read(file);
            // A write of a ring is announced by its layout.
            if (fs.existsSync(layoutFile)) {
              const during = [bytes, total, total + length];
              const text = during.map((number) => String(number).padStart(16)).join(' ');
              fs.writeFileSync(layoutFile, `${text}\n`);
            }
            fs.writeFileSync(
              file,
              mixOf(before, after, (byte) => byte % 121 < written),
            );
            if (written % 2 === 0) await log.close();
            log = await LogFile.continue(file, bytes);
            expect(log.total).toBeGreaterThanOrEqual(total);
            await log.append(printed(log.total, total + length - log.total));
          }
          total += length;
        }
        await log.close();
        const rest = { verified: true, truncated: total > bytes };
        expect(await measureLog(file)).toEqual({ total, ...rest });
        expect(await readLog(file, 0, 1000)).toEqual(expected(total, bytes, 0, 1000));
        expect(await readLogEnd(file, 1000)).toEqual(
          expected(total, bytes, total > bytes ? kept(total, bytes).tail : 0, 1000),
        );
      },
    ),
    { numRuns: atLength(75, 300, 300) },
  ));
