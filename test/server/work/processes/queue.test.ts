import { expect, test } from 'vitest';
import { anError } from '../../../support/an-error.ts';
import type { Client } from '../../../../src/client/client.ts';
import { expectEventually } from '../../../support/expect-eventually.ts';
import { scriptedProvider } from '../../../support/scripted-provider.ts';
import { openSession } from '../../../support/turns.ts';
import { endpoints } from '../../../../src/api/index.ts';
import { configSchema } from '../../../../src/core/config/schema.ts';
import { AppError } from '../../../../src/api/errors.ts';
import { type TestRuntimeOptions, testRuntime } from '../../../support/runtime.ts';
import {
  ended,
  endingsIn,
  eventsOf,
  Gate,
  get,
  kill,
  kindsOf,
  ranTo,
  run,
  type Server,
  stdout,
} from '../../../support/processes/work.ts';
import { scaled } from '../../../support/patience.ts';
import { atLength } from '../../../support/at-length.ts';

const limits = (max_concurrent: number, max_queued: number): TestRuntimeOptions => ({
  config: { processes: { max_concurrent, max_queued } },
});

const counts = ({ client }: Server) => client.call(endpoints.getProcessDiagnostics, {});

test('A process beyond the limit waits for a place, and queued processes start in order.', async () => {
  const given = await testRuntime(limits(1, 10));
  using gate = new Gate(given.directory);
  const first = await run(given, gate.wait);
  const rest = [];
  for (let i = 0; i < 5; i++) rest.push(await run(given, `echo ${i}`));
  for (const one of rest)
    expect(await get(given, one)).toMatchObject({ status: 'queued', pid: null });
  expect(await counts(given)).toMatchObject({ queued: 5, running: 1, max_concurrent: 1 });
  gate.open();
  const over = [await ended(given, first)];
  for (const one of rest) over.push(await ended(given, one));
  expect(over.map(({ status }) => status)).toEqual(Array(6).fill('completed'));
  for (const [i, one] of over.entries())
    expect(one.started_at).toBeGreaterThanOrEqual(over[i - 1]?.ended_at ?? 0);
});

test('A queued process starts when a reloaded configuration makes a place for it.', async () => {
  const given = await testRuntime(limits(1, 10));
  using gate = new Gate(given.directory);
  await run(given, gate.wait);
  const waiting = await run(given, 'echo now');
  expect((await get(given, waiting)).status).toBe('queued');
  const more = { server: { bind_address: '127.0.0.1:0' }, processes: { max_concurrent: 2 } };
  given.runtime.reload(() => configSchema.parse(more));
  expect((await ended(given, waiting)).status).toBe('completed');
  gate.open();
});

test('A process beyond the queue is refused with 429, and accepted once there is a place.', async () => {
  const given = await testRuntime(limits(2, 2));
  using gate = new Gate(given.directory);
  const taken = [];
  for (let i = 0; i < 4; i++) taken.push(await run(given, gate.wait));
  const refusal = await run(given, 'true').catch((error: unknown) => error);
  expect(refusal).toBeInstanceOf(AppError);
  expect(refusal).toMatchObject(
    anError('too_many', /^2 processes are already queued: .*processes\.max_queued$/),
  );
  expect(await given.client.call(endpoints.listProcesses, {})).toHaveLength(4);
  gate.open();
  await Promise.race(taken.map((one) => ended(given, one)));
  expect((await run(given, gate.wait)).status).toBe('queued');
  gate.open(4);
  for (const one of taken) expect((await ended(given, one)).status).toBe('completed');
});

test('Many simultaneous requests do not exceed the limit.', async () => {
  const given = await testRuntime(limits(3, 5));
  using gate = new Gate(given.directory);
  const asked = await Promise.allSettled(Array.from({ length: 40 }, () => run(given, gate.wait)));
  const refused = asked.filter(({ status }) => status === 'rejected');
  expect(refused).toHaveLength(32);
  for (const one of refused) expect(one).toMatchObject({ reason: { code: 'too_many' } });
  expect(await counts(given)).toMatchObject({ queued: 5, running: 3 });
});

test('The time limit of a process counts from its start.', async () => {
  const given = await testRuntime(limits(1, 10));
  using gate = new Gate(given.directory);
  const first = await run(given, gate.wait);
  const limit = scaled(1500);
  const second = await run(given, 'echo done', { timeout_ms: limit });
  // As long as a whole process takes from its start to its end, twice.
  const params = { process_id: second.process_id };
  const query = { timeout_ms: limit + 100 };
  const { matched } = await given.client.call(endpoints.waitForProcess, { params, query });
  expect(matched).toBe(false);
  gate.open();
  await ended(given, first);
  expect(await ended(given, second)).toMatchObject({ status: 'completed', stdout_bytes: 5 });
});

test('A queued process can be killed, and leaves the queue.', async () => {
  const given = await testRuntime(limits(1, 10));
  using gate = new Gate(given.directory);
  const first = await run(given, gate.wait);
  const second = await run(given, 'echo never');
  await kill(given, second, 'not needed');
  const over = await ended(given, second);
  expect(over).toMatchObject({
    status: 'killed',
    kill_reason: 'not needed',
    pid: null,
    started_at: null,
    exit_code: null,
    stdout_bytes: 0,
  });
  expect(kindsOf(await eventsOf(given, second))).toEqual([
    'process.queued',
    'process.kill_requested',
    'process.killed',
  ]);
  expect(await counts(given)).toMatchObject({ queued: 0, running: 1 });
  gate.open();
  expect((await ended(given, first)).status).toBe('completed');
});

test('The diagnostics count running, queued and ended processes.', async () => {
  const given = await testRuntime();
  for (const command of ['true', 'true', 'false']) await ranTo(given, command);
  await ranTo(given, 'sleep 300', { timeout_ms: 1 });
  await kill(given, await run(given, 'sleep 300'));
  await expectEventually(() => counts(given)).toEqual({
    queued: 0,
    running: 0,
    max_concurrent: 32,
    max_queued: 1000,
    max_per_session: 16,
    max_queued_per_session: 100,
    ended: { completed: 2, failed: 1, timed_out: 1, killed: 1 },
  });
});

const many = atLength(20, 300, 60);

test(`All of ${many} simultaneous processes run, each once, with their own output.`, async () => {
  const given = await testRuntime();
  const all = await Promise.all(
    Array.from({ length: many }, (_, i) => run(given, `echo ${i}; exit ${i % 100}`)),
  );
  for (const [i, one] of all.entries()) {
    expect(await ended(given, one)).toMatchObject({ exit_code: i % 100 });
    expect(await stdout(given, one)).toBe(`${i}\n`);
    expect(endingsIn(await eventsOf(given, one))).toHaveLength(1);
  }
});

const quota = (processes: object): TestRuntimeOptions => ({
  config: { processes },
  providers: [scriptedProvider()],
});
const owner = async (given: { client: Client; directory: string }) =>
  (await openSession(given.client, given.directory)).id;

test('The processes of one session leave places for other sessions, however many wait.', async () => {
  const given = await testRuntime(quota({ max_concurrent: 4, max_per_session: 2 }));
  using gate = new Gate(given.directory);
  const [session_id, other] = [await owner(given), await owner(given)];
  const greedy = [];
  for (let i = 0; i < 6; i++) greedy.push(await run(given, gate.wait, { session_id }));
  const admin = await run(given, gate.wait);
  const neighbour = await run(given, gate.wait, { session_id: other });
  const states = async (all: readonly { process_id: string }[]) =>
    (await Promise.all(all.map((one) => get(given, one)))).map(({ status }) => status);
  await expect
    .poll(() => states([admin, neighbour]), { timeout: scaled(15_000) })
    .toEqual(['running', 'running']);
  expect(await states(greedy)).toEqual([
    ...Array<string>(2).fill('running'),
    ...Array<string>(4).fill('queued'),
  ]);
  expect(await counts(given)).toMatchObject({ running: 4, queued: 4, max_per_session: 2 });
  gate.open(8);
  for (const one of [...greedy, admin, neighbour])
    expect((await ended(given, one)).status).toBe('completed');
});

test('A session has a maximum number of processes: the refusal names the keys that raise it.', async () => {
  const given = await testRuntime(quota({ max_per_session: 1, max_queued_per_session: 2 }));
  using gate = new Gate(given.directory);
  const session_id = await owner(given);
  const asked = await Promise.allSettled(
    Array.from({ length: 9 }, () => run(given, gate.wait, { session_id })),
  );
  const refused = asked.filter(({ status }) => status === 'rejected');
  expect(refused).toHaveLength(6);
  for (const one of refused)
    expect(one).toMatchObject({
      reason: anError('too_many', /processes\.max_queued_per_session.*processes\.max_per_session/),
    });
  gate.open(3);
  for (const one of asked) if (one.status === 'fulfilled') await ended(given, one.value);
  expect((await ranTo(given, 'true', { session_id })).status).toBe('completed');
});
