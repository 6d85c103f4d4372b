import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import { expect, test } from 'vitest';
import { ForeignFileError, readForeignFile } from '../../../src/core/lib/foreign-file.ts';
import { tempDirectory } from '../../support/temp.ts';

const read = (directory: string, name: string, maxBytes = 1024) =>
  readForeignFile(directory, name, { maxBytes });

test('A regular file is read completely, as bytes.', async () => {
  await using place = tempDirectory('foreign');
  fs.mkdirSync(path.join(place.path, 'sub'));
  fs.writeFileSync(path.join(place.path, 'sub', 'file'), 'what it says');
  expect(String(await read(place.path, 'sub/file'))).toBe('what it says');
});

test('A missing file or directory reads as null.', async () => {
  await using place = tempDirectory('foreign');
  fs.writeFileSync(path.join(place.path, 'file'), '');
  expect(await read(place.path, 'other')).toBeNull();
  expect(await read(place.path, 'file/below')).toBeNull();
  expect(await read(path.join(place.path, 'gone'), 'file')).toBeNull();
});

test('A file of the maximum size is read, and a file with one byte more is refused.', async () => {
  await using place = tempDirectory('foreign');
  const file = path.join(place.path, 'file');
  fs.writeFileSync(file, 'x'.repeat(1024));
  expect(await read(place.path, 'file')).toHaveLength(1024);
  fs.appendFileSync(file, 'x');
  await expect(read(place.path, 'file')).rejects.toThrow(
    /is too large \(1025 bytes\): the maximum is 1024/,
  );
});

test('A FIFO, a socket, a device and a directory are refused without waiting.', async () => {
  await using place = tempDirectory('foreign');
  execFileSync('mkfifo', [path.join(place.path, 'fifo')]);
  fs.mkdirSync(path.join(place.path, 'directory'));
  const server = net.createServer().listen(path.join(place.path, 'socket'));
  for (const name of ['fifo', 'directory', 'socket'])
    await expect(read(place.path, name)).rejects.toThrow(ForeignFileError);
  await expect(read('/dev', 'zero')).rejects.toThrow(/is not a regular file/);
  server.close();
});

test('No link below the directory is followed, but the directory itself may be a link.', async () => {
  await using place = tempDirectory('foreign');
  fs.mkdirSync(path.join(place.path, 'real'));
  fs.writeFileSync(path.join(place.path, 'real', 'file'), 'secret');
  fs.symlinkSync('real/file', path.join(place.path, 'link'));
  fs.symlinkSync('real', path.join(place.path, 'parent'));
  await expect(read(place.path, 'link')).rejects.toThrow(/not a regular file/);
  await expect(read(place.path, 'parent/file')).rejects.toThrow(/contains a symbolic link/);
  expect(String(await read(path.join(place.path, 'parent'), 'file'))).toBe('secret');
});
