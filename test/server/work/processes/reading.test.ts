import path from 'node:path';
import * as fc from 'fast-check';
import { afterAll, expect, test } from 'vitest';
import { LogFile } from '../../../../src/server/work/processes/log-file.ts';
import { hasText, readPiece, readTail } from '../../../../src/server/work/processes/reading.ts';
import { atLength } from '../../../support/at-length.ts';
import { tempDirectory } from '../../../support/temp.ts';

const place = tempDirectory('log');
afterAll(() => place[Symbol.dispose]());
let logs = 0;

/** Runs `work` on a log of what was printed. */
async function withLog<T>(
  text: string | Buffer,
  cap: number,
  work: (file: string) => Promise<T>,
): Promise<T> {
  const file = path.join(place.path, `${++logs}`);
  const log = new LogFile(file, cap);
  await log.append(Buffer.from(text as string));
  await log.close();
  return work(file);
}

const unit = fc.constantFrom('a', 'é', '漢', '🙂', '\n');
const text = fc.string({ unit, maxLength: 60 });
const large = 1_000_000;

/** The end of a text: the last lines, then the last whole characters within so many bytes. */
function tailOf(whole: string, lines: number, bytes: number): string {
  const all = whole.split(/(?<=\n)/);
  let tail = lines === 0 ? '' : all.slice(-lines).join('');
  while (Buffer.byteLength(tail) > bytes) tail = tail.replace(/^./su, '');
  return tail;
}

test('The tail of a log has the last lines within a number of bytes, in whole characters.', () =>
  fc.assert(
    fc.asyncProperty(text, fc.nat(20), fc.integer({ min: 1, max: 200 }), (whole, lines, bytes) =>
      withLog(whole, large, async (file) => {
        const content = tailOf(whole, lines, bytes);
        const total_bytes = Buffer.byteLength(whole);
        expect(await readTail(file, { lines, bytes })).toEqual({
          content,
          bytes: Buffer.byteLength(content),
          total_bytes,
          truncated: content !== whole,
          offset: total_bytes - Buffer.byteLength(content),
          verified: true,
        });
      }),
    ),
    { numRuns: atLength(150, 400, 400) },
  ));

test('The tail of a log without its middle has whole characters, and is marked as truncated.', () =>
  fc.assert(
    fc.asyncProperty(text, fc.integer({ min: 8, max: 40 }), (whole, cap) =>
      withLog(whole, cap, async (file) => {
        const tail = await readTail(file, { lines: 10_000, bytes: large });
        expect(tail.content).not.toContain('\uFFFD');
        expect(whole.endsWith(tail.content)).toBe(true);
        expect(tail.truncated).toBe(Buffer.byteLength(whole) > cap);
      }),
    ),
    { numRuns: atLength(80, 200, 200) },
  ));

test('The tail of a log leaves out an incomplete last character.', () =>
  withLog(Buffer.from('ab🙂').subarray(0, 4), large, async (file) => {
    expect(await readTail(file, { lines: 10, bytes: 100 })).toEqual({
      content: 'ab',
      bytes: 2,
      total_bytes: 4,
      truncated: true,
      offset: 0,
      verified: true,
    });
  }));

test('Invalid UTF-8 in a log does not affect valid characters.', () =>
  withLog(Buffer.from([0xff, 0x41, 0x80, 0x80, 0x80, 0x80, 0x42]), large, async (file) => {
    const { content } = await readTail(file, { lines: 10, bytes: 100 });
    expect(content.replaceAll('\uFFFD', '')).toBe('AB');
  }));

/** All pieces of a log, as a follower reads them. */
async function pieces(file: string, limit: number, isOver: boolean) {
  const read: { offset: number; text: string; next: number }[] = [];
  for (let next = 0; ;) {
    const piece = await readPiece(file, next, limit, isOver);
    if (piece.text === '') return read;
    read.push(piece);
    next = piece.next;
  }
}

test('The pieces of a log have every character once and whole, with its offset.', () =>
  fc.assert(
    fc.asyncProperty(text, fc.integer({ min: 4, max: 30 }), fc.boolean(), (whole, limit, isOver) =>
      withLog(whole, large, async (file) => {
        const read = await pieces(file, limit, isOver);
        expect(read.map((piece) => piece.text).join('')).toBe(whole);
        for (const { offset, text: part, next } of read) {
          expect(next - offset).toBe(Buffer.byteLength(part));
          expect(Buffer.from(whole).subarray(offset, next).toString()).toBe(part);
        }
      }),
    ),
    { numRuns: atLength(100, 300, 300) },
  ));

test.for([true, false])(
  'A log in pieces continues after dropped bytes with a whole character (over: %s).',
  (isOver) =>
    fc.assert(
      fc.asyncProperty(text, fc.integer({ min: 8, max: 40 }), (whole, cap) =>
        withLog(whole, cap, async (file) => {
          const read = await pieces(file, 30, isOver);
          const given = read.map((piece) => piece.text).join('');
          expect(given).not.toContain('\uFFFD');
          const end = /.$/su.exec(whole)?.[0] ?? '';
          expect(given.endsWith(end)).toBe(true);
          for (const { offset, text: part, next } of read)
            expect(Buffer.from(whole).subarray(offset, next).toString()).toBe(part);
        }),
      ),
      { numRuns: atLength(80, 200, 200) },
    ),
);

test('A log that ends within a character returns its bytes once the log is closed.', () =>
  withLog(Buffer.from('ab🙂').subarray(0, 4), large, async (file) => {
    expect((await pieces(file, 30, false)).map((piece) => piece.text)).toEqual(['ab']);
    expect((await pieces(file, 30, true)).map((piece) => piece.text).join('')).toMatch(
      /^ab\uFFFD+$/,
    );
  }));

test('A text is found anywhere in a log, also across two reads.', () =>
  fc.assert(
    fc.asyncProperty(fc.integer({ min: 0, max: 600_000 }), (before) =>
      withLog(`${'x'.repeat(before)}needle${'y'.repeat(1000)}`, 10_000_000, async (file) => {
        expect(await hasText(file, 'needle')).toBe(true);
        expect(await hasText(file, 'needles')).toBe(false);
      }),
    ),
    { numRuns: 20, examples: [[256 * 1024 - 3], [256 * 1024], [256 * 1024 + 3], [512 * 1024 - 1]] },
  ));

test('A text is found before and after the dropped middle of a log, and not across it.', () =>
  withLog(`first${'x'.repeat(5000)}lost${'y'.repeat(5000)}last`, 1000, async (file) => {
    const found = ['first', 'lost', 'last'].map((text) => hasText(file, text));
    expect(await Promise.all(found)).toEqual([true, false, true]);
  }));
