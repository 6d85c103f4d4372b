import { Readable } from 'node:stream';
import { describe, expect, test } from 'vitest';
import { linesOf, parsed } from '../../src/providers/json-lines.ts';

const MIB = 1024 * 1024;
const mebibyte = Buffer.alloc(MIB, 'x');

function* inChunks(head: string, bytes: number, tail: string): Iterable<Buffer> {
  yield Buffer.from(head);
  for (let left = bytes; left > 0; left -= MIB) yield mebibyte.subarray(0, left);
  yield Buffer.from(tail);
}

async function allOf(lines: AsyncIterable<string>): Promise<string[]> {
  const all = [];
  for await (const line of lines) all.push(line);
  return all;
}

describe('lines', () => {
  test('are found however the stream is cut, and what has no end is none.', async () => {
    const whole = Buffer.from('one\n\nzwölf\nrest');
    for (let size = 1; size <= whole.length; size++) {
      const chunks = [];
      for (let at = 0; at < whole.length; at += size) chunks.push(whole.subarray(at, at + size));
      expect(await allOf(linesOf(Readable.from(chunks)))).toEqual(['one', '', 'zwölf']);
    }
  });

  test('that are too long end the stream.', async () => {
    const stream = Readable.from(inChunks('a\n', 33 * MIB, 'z\nb\n'));
    await expect(allOf(linesOf(stream))).rejects.toThrow(/a line of it exceeds 33554432 bytes/);
  });

  test('that are too long are passed over where somebody wants to know their ends.', async () => {
    const stream = Readable.from(inChunks('a\nhead', 33 * MIB, 'tail\nb\n'));
    const ends: [string, string][] = [];
    const lines = await allOf(linesOf(stream, (head, tail) => ends.push([head, tail])));
    expect(lines).toEqual(['a', 'b']);
    expect(ends).toHaveLength(1);
    expect(ends[0]?.[0]).toMatch(/^headx+$/);
    expect(ends[0]?.[1]).toMatch(/^x+tail$/);
  });

  test('that go on for ever end it all the same.', async () => {
    const stream = Readable.from(inChunks('', 257 * MIB, ''));
    await expect(allOf(linesOf(stream, () => undefined))).rejects.toThrow(/exceeds/);
  });

  test('that are no JSON are nothing.', () => {
    expect(parsed('{"a":1}')).toEqual({ a: 1 });
    expect(parsed('{"a"')).toBeUndefined();
  });
});
