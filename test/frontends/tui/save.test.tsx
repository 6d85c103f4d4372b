import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { endpoints } from '../../../src/api/index.ts';
import { testDemo } from '../../support/demo-server.ts';
import { keys, testScreen } from './test-screen.tsx';
import { runTurn, withSession } from '../../support/turns.ts';

const start = { page: 'top' } as const;
const CLEAR = '\u0015';
/** More turns than the pane reads when it opens. */
const TURNS = 12;

test('A whole conversation is saved to a file that only its owner reads, and replaces one only after a yes.', async () => {
  const { client, directory, id } = await withSession(testDemo(), { title: 'the job: a/b' });
  for (let i = 0; i < TURNS; i++) await runTurn(client, id, `say answer ${i}`);
  const file = path.join(directory, 'saved.md');
  const { expectShows, press } = testScreen(client, start);
  await expectShows('the job');
  await press('S').shows('Save to (⏎ save): /home/ada/project/the-job-a-b.md');
  await press(CLEAR, file, keys.enter).shows(/Saved [^]*saved\.md \(\d+ bytes\)/);
  const text = readFileSync(file, 'utf8');
  for (let i = 0; i < TURNS; i++) expect(text).toContain(`\nanswer ${i}\n`);
  expect(statSync(file).mode & 0o777).toBe(0o600);
  writeFileSync(file, 'mine', { mode: 0o644 });
  await press('S', CLEAR, file, keys.enter).shows(
    'saved.md exists. Replace it?  y replace  other keys: cancel',
  );
  await press('n').hides('Replace it?');
  expect(readFileSync(file, 'utf8')).toBe('mine');
  await press('S', CLEAR, file, keys.enter).shows('Replace it?');
  await press('y').shows(/Saved [^]*saved\.md/);
  expect(readFileSync(file, 'utf8')).toBe(text);
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect(readdirSync(directory).filter((name) => name.includes('saved.md'))).toHaveLength(1);
});

test('A log is saved with stdout and stderr, and a file that cannot be written is refused with its reason.', async () => {
  const { client, directory } = await testDemo();
  const command = 'seq 3; echo oops >&2';
  await client.call(endpoints.createProcess, { body: { command, cwd: directory } });
  const file = path.join(directory, 'saved.log');
  const { expectShows, press } = testScreen(client, start);
  await expectShows('oops');
  await expectShows('completed, exit 0');
  await press('S').shows('/seq-3-echo-oops-2.log');
  await press(CLEAR, file, keys.enter).shows(/Saved [^]*saved\.log \(\d+ bytes\)/);
  expect(readFileSync(file, 'utf8')).toBe('1\n2\n3\n--- stderr ---\noops\n');
  await press('S', CLEAR, directory, keys.enter).shows(/cannot replace [^]*: not a regular file/);
  await press('S', CLEAR, path.join(directory, 'none', 'x'), keys.enter).shows(
    /cannot write [^]*ENOENT/,
  );
  await press('S', CLEAR, path.join(file, 'x'), keys.enter).shows(/cannot write [^]*ENOTDIR/);
});
