import { Readable } from 'node:stream';
import { expect, test } from 'vitest';
import type { BoundedLine } from '../../src/agents/bounded-line.ts';
import { linesOf, MAX_SHARED_LINE_BYTES } from '../../src/agents/json-lines.ts';

const MIB = 1024 * 1024;
const mebibyte = Buffer.alloc(MIB, 'x');

function* inChunks(head: string, bytes: number, tail: string): Iterable<Buffer> {
  yield Buffer.from(head);
  for (let left = bytes; left > 0; left -= MIB) yield mebibyte.subarray(0, left);
  yield Buffer.from(tail);
}

async function allOf(lines: AsyncIterable<BoundedLine>): Promise<string[]> {
  const all = [];
  for await (const line of lines) all.push(line.text);
  return all;
}

test('Lines are read from chunks of any size, and a last line without an end is dropped.', async () => {
  const whole = Buffer.from('one\n\nzwölf\nrest');
  for (let size = 1; size <= whole.length; size++) {
    const chunks = [];
    for (let at = 0; at < whole.length; at += size) chunks.push(whole.subarray(at, at + size));
    expect(await allOf(linesOf(Readable.from(chunks)))).toEqual(['one', '', 'zwölf']);
  }
});

test('Each line has its offsets, also if the reading begins in the middle of the output.', async () => {
  const offsets = [];
  for await (const { begin, end } of linesOf(Readable.from([Buffer.from('one\n\nzwölf\nrest')]), {
    from: 7,
  }))
    offsets.push([begin, end]);
  expect(offsets).toEqual([
    [7, 11],
    [11, 12],
    [12, 19],
  ]);
});

test('A line that is too long fails the stream.', async () => {
  const stream = Readable.from(inChunks('a\n', 33 * MIB, 'z\nb\n'));
  await expect(allOf(linesOf(stream))).rejects.toThrow(
    /the agent sent a line of more than 33554432 bytes/,
  );
});

test('A line of a shared agent may be longer, but has a limit too.', async () => {
  const stream = Readable.from(inChunks('', 257 * MIB, ''));
  await expect(allOf(linesOf(stream, { maxBytes: MAX_SHARED_LINE_BYTES }))).rejects.toThrow(
    /the agent sent a line of more than/,
  );
});
