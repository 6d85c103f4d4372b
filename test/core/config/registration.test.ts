import { spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { findRegistration, register, unregister } from '../../../src/core/config/registration.ts';
import { tempDirectory } from '../../support/temp.ts';

const server = { url: 'http://127.0.0.1:1', version: '1', token_file: '/t' };

/** Registers this process, changes the file, and reads it. */
function registered(directory: string, change: object): ReturnType<typeof findRegistration> {
  register(directory, server);
  const file = path.join(directory, 'server.json');
  const written = JSON.parse(fs.readFileSync(file, 'utf8')) as object;
  fs.writeFileSync(file, JSON.stringify({ ...written, ...change }));
  return findRegistration(directory);
}

test('The registration is found while its process lives, and not after it is removed.', async () => {
  await using place = tempDirectory();
  expect(findRegistration(place.path)).toBeNull();
  register(place.path, server);
  expect(findRegistration(place.path)).toMatchObject({
    server: { ...server, pid: process.pid },
    runs: true,
  });
  unregister(place.path);
  unregister(place.path);
  expect(findRegistration(place.path)).toBeNull();
});

test('Only the owner can read the registration, and it is never written partially.', async () => {
  await using place = tempDirectory();
  register(place.path, server);
  const { mode } = fs.statSync(path.join(place.path, 'server.json'));
  expect(mode & 0o777).toBe(0o600);
  expect(fs.readdirSync(place.path)).toEqual(['server.json']);
});

test('A registration whose process is gone is stale.', async () => {
  await using place = tempDirectory();
  const gone = spawn('true');
  await once(gone, 'close');
  expect(registered(place.path, { pid: gone.pid })).toMatchObject({ runs: false });
});

test('A registration is stale if another program has its pid now.', async () => {
  await using place = tempDirectory();
  const { runs, server: found } = registered(place.path, { pid: process.ppid }) ?? {};
  expect([runs, found?.pid]).toEqual([false, process.ppid]);
  expect(registered(place.path, { boot_id: 'an earlier one' })).toMatchObject({ runs: false });
});

test('A registration of an older version has no start time, so that only its pid is checked.', async () => {
  await using place = tempDirectory();
  const older = { started_ticks: undefined, boot_id: undefined };
  expect(registered(place.path, older)).toMatchObject({ runs: true });
  expect(registered(place.path, { ...older, pid: 2 ** 22 + 1 })).toMatchObject({ runs: false });
});

test('A broken registration counts as missing.', async () => {
  await using place = tempDirectory();
  for (const text of ['', '{', '[]', '{"url":1}']) {
    fs.writeFileSync(path.join(place.path, 'server.json'), text);
    expect(findRegistration(place.path)).toBeNull();
  }
});
