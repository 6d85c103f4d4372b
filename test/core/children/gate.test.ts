import { text } from 'node:stream/consumers';
import { setImmediate } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { startAtBarrier, startOf } from '../../../src/core/children/spawn-barrier.ts';
import { openDatabase } from '../../support/database.ts';
import { ended, eventsOf, Gate, get, logs, ranTo, run } from '../../support/processes/work.ts';
import { openRuntime, testRuntime } from '../../support/runtime.ts';
import { tempDirectory } from '../../support/temp.ts';

test('A command finds neither the variable nor the descriptor of the spawn barrier.', async () => {
  const given = await testRuntime();
  const over = await ranTo(
    given,
    'echo "${CADRE_GATE-unset} $0"; (: <&3) 2>/dev/null || echo closed',
  );
  expect((await logs(given, over)).stdout?.content).toBe('unset /bin/sh\nclosed\n');
});

test('A command ends with its own exit code, signal or syntax error.', async () => {
  const given = await testRuntime();
  expect(await ranTo(given, 'exit 7')).toMatchObject({ exit_code: 7, signal: null });
  expect(await ranTo(given, 'kill -9 $$')).toMatchObject({
    exit_code: null,
    signal: 'SIGKILL',
  });
  expect(await ranTo(given, '&& echo wrong')).toMatchObject({ status: 'failed', exit_code: 2 });
  expect(await ranTo(given, '\n# a comment\nexit 3')).toMatchObject({ exit_code: 3 });
});

test('A syntax error is kept if the shell reports it before the command is accepted.', async () => {
  const given = { command: '/bin/sh', args: ['-c', 'if; then'], cwd: '/', env: {} };
  const gated = startAtBarrier(startOf({ ...given, stdin: 'none' }));
  if (gated instanceof Promise) throw await gated;
  expect(await gated.exit.promise).toEqual({ code: 2, signal: null });
  // Node drops unread output in the tick after the exit.
  await setImmediate();
  gated.open();
  const { stdout, stderr } = gated;
  expect(await text(stderr)).toMatch(/syntax error/i);
  expect(await text(stdout)).toBe('');
});

test('A command that its shell cannot parse fails with the syntax error.', async () => {
  const given = await testRuntime();
  for (const text of ['echo "open', ')', '&& echo wrong']) {
    const over = await ranTo(given, text);
    expect(over).toMatchObject({ status: 'failed', exit_code: 2 });
    expect((await logs(given, over)).stderr?.content).toMatch(/syntax error/iu);
  }
});

test('A command is stored as started together with its acceptance, if it may run at once.', async () => {
  const given = await testRuntime();
  using gate = new Gate(given.directory);
  const accepted = await run(given, gate.wait);
  expect(accepted).toMatchObject({ status: 'queued', pid: null });
  const now = await get(given, accepted);
  expect(now).toMatchObject({ status: 'running', pid: expect.any(Number) });
  const [queued, started] = await eventsOf(given, accepted);
  expect([queued?.kind, started?.kind]).toEqual(['process.queued', 'process.started']);
  expect(started?.seq).toBe((queued?.seq ?? 0) + 1);
  gate.open();
  await ended(given, accepted);
});

test('A new row of the ledger replaces the rows of children that have ended.', async () => {
  await using directory = tempDirectory('ledger');
  const { runtime, client } = await openRuntime(directory.path);
  for (let n = 0; n < 3; n++) await ranTo({ client }, `echo ${n}`);
  client.close();
  await runtime.stop();
  const db = await openDatabase(directory.path);
  const rows = db.prepare<[string]>('SELECT what FROM children');
  expect(db.peek((rx) => rows.all(rx))).toHaveLength(1);
  await db.close();
});
