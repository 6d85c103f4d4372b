import fs from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { expectError } from '../../../support/an-error.ts';
import { endpoints } from '../../../../src/api/index.ts';
import { sharedRuntime } from '../../../support/runtime.ts';
import { scriptedProvider } from '../../../support/scripted-provider.ts';
import { openSession } from '../../../support/turns.ts';
import {
  ended,
  get,
  kill,
  printed,
  ranTo,
  run,
  type Server,
} from '../../../support/processes/work.ts';

const onRuntime = sharedRuntime({ providers: [scriptedProvider()] });

async function restart({ client }: Server, { process_id }: { process_id: string }, query = {}) {
  const call = { params: { process_id }, query, body: {} };
  return (await client.call(endpoints.restartProcess, call)).process;
}

test('A restart runs the command again as a new process with the same owner and settings.', async () => {
  const given = onRuntime();
  const { id } = await openSession(given.client, given.directory);
  const settings = {
    session_id: id,
    cwd: given.directory,
    timeout_ms: 50_000,
    on_exit: 'notify' as const,
  };
  const old = await ranTo(given, 'echo $CADRE_SESSION_ID; pwd', settings);
  const again = await restart(given, old);
  expect(again.process_id).not.toBe(old.process_id);
  const { session_id, cwd, command, timeout_ms, on_exit, stdin } = old;
  expect(again).toMatchObject({ session_id, cwd, command, timeout_ms, on_exit, stdin });
  const { status, stdout_bytes } = await ended(given, again);
  expect([status, stdout_bytes]).toEqual(['completed', old.stdout_bytes]);
  expect(await get(given, old)).toEqual({ ...old, notice: expect.any(String) });
});

test('A restart ends the old process first, and starts after its end.', async () => {
  const given = onRuntime();
  const journal = path.join(given.directory, 'journal');
  const end = 'echo stops >> journal; exit';
  const command = `trap 'sleep 0.2; ${end}' TERM; echo begins >> journal; echo up; while :; do sleep 0.01; done`;
  const old = await run(given, command, { cwd: given.directory });
  await printed(given, old, 'up');
  const again = await restart(given, old);
  expect(again.status).toBe('queued');
  await printed(given, again, 'up');
  expect(fs.readFileSync(journal, 'utf8')).toBe('begins\nstops\nbegins\n');
  expect(await get(given, old)).toMatchObject({ status: 'killed', kill_reason: 'restarted' });
  await kill(given, again);
  await ended(given, again);
});

test('A restarted process can be killed while it waits for the old one.', async () => {
  const given = onRuntime();
  const old = await run(given, `trap '' TERM; echo up; sleep 1000`);
  await printed(given, old, 'up');
  const again = await restart(given, old);
  await kill(given, again, 'not after all');
  expect(await ended(given, again)).toMatchObject({
    status: 'killed',
    started_at: null,
    kill_reason: 'not after all',
  });
  expect(await ended(given, old)).toMatchObject({ status: 'killed' });
});

test('A restart is refused for another owner, a closed owner and a missing directory.', async () => {
  const given = onRuntime();
  const cwd = fs.mkdtempSync(path.join(given.directory, 'gone-'));
  const { id } = await openSession(given.client, given.directory);
  const old = await ranTo(given, 'true', { cwd, session_id: id });
  await expectError(restart(given, old, { session_id: 'sess_0' }), 'not_found');
  fs.rmdirSync(cwd);
  await expectError(restart(given, old), 'invalid');
  fs.mkdirSync(cwd);
  await given.client.call(endpoints.closeSession, { params: { session_id: id }, body: {} });
  await expectError(restart(given, old), 'session_closed');
});
