import { expect, test } from 'vitest';
import type { FileSystem } from '../../../src/core/store/host/file-system.ts';
import { WalBuffer } from '../../../src/core/store/host/wal-buffer.ts';
import { systemError } from '../../support/store.ts';

const PAGE = 4096;

test('A commit of several pages is one write, at its last page.', () => {
  const { buffer, writes } = recorded();
  buffer.write(Buffer.alloc(32), 0);
  const middle = writeFrame(buffer, 32, { isLast: false });
  expect(writes).toEqual([]);
  const end = writeFrame(buffer, middle, { isLast: true });
  expect(writes).toEqual([{ position: 0, bytes: end }]);
});

test('A header that SQLite writes again is written at once, because no page follows.', () => {
  const { buffer, writes } = recorded();
  const end = writeFrame(buffer, 32, { isLast: true });
  buffer.write(header({ isLast: true }), 32);
  expect(writes).toEqual([
    { position: 32, bytes: end - 32 },
    { position: 32, bytes: 24 },
  ]);
});

test('A commit after the WAL begins again is one write.', () => {
  const { buffer, writes } = recorded();
  writeFrame(buffer, writeFrame(buffer, 32, { isLast: true }), { isLast: true });
  writes.length = 0;
  buffer.write(Buffer.alloc(32), 0);
  const end = writeFrame(buffer, 32, { isLast: true });
  expect(writes).toEqual([{ position: 0, bytes: end }]);
});

test('The frames of a transaction that was rolled back are not in the write of the next commit.', () => {
  const { buffer, writes } = recorded();
  const end = writeFrame(buffer, 32, { isLast: false });
  writeFrame(buffer, 32, { isLast: true });
  expect(writes.map(({ position }) => position)).toEqual([32, 32, 32 + 24]);
  expect(writes[0]).toEqual({ position: 32, bytes: end - 32 });
});

test('A short write continues where it ended.', () => {
  const { buffer, writes } = recorded({ take: 1000 });
  writeFrame(buffer, 32, { isLast: true });
  expect(writes.map(({ position }) => position)).toEqual([32, 1032, 2032, 3032, 4032]);
});

test('A failed write throws at the last page, and the next commit is written whole.', () => {
  const { buffer, writes, disk } = recorded();
  disk.error = systemError('ENOSPC');
  expect(() => writeFrame(buffer, 32, { isLast: true })).toThrow('ENOSPC');
  disk.error = null;
  const end = writeFrame(buffer, 32, { isLast: true });
  expect(writes.reduce((sum, { bytes }) => sum + bytes, 0)).toBe(end - 32);
});

function recorded({ take = Number.POSITIVE_INFINITY } = {}) {
  const writes: { position: number; bytes: number }[] = [];
  const disk: { error: Error | null } = { error: null };
  const writeSync = (_fd: number, _from: Buffer, _at: number, length: number, position: number) => {
    if (disk.error) throw disk.error;
    const bytes = Math.min(length, take);
    writes.push({ position, bytes });
    return bytes;
  };
  const buffer = new WalBuffer({ fs: { writeSync } as unknown as FileSystem, fd: 1 });
  return { buffer, writes, disk };
}

/** Writes the header and the page of a frame as SQLite does, and returns the end of the frame. */
function writeFrame(buffer: WalBuffer, position: number, { isLast }: { isLast: boolean }): number {
  buffer.write(header({ isLast }), position);
  buffer.write(Buffer.alloc(PAGE), position + 24);
  return position + 24 + PAGE;
}

function header({ isLast }: { isLast: boolean }): Buffer {
  const bytes = Buffer.alloc(24);
  bytes.writeUInt32BE(isLast ? 7 : 0, 4);
  return bytes;
}
