import fs from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { expectError } from '../../../support/an-error.ts';
import { isIn } from '../../../../src/api/events.ts';
import { endpoints } from '../../../../src/api/index.ts';
import { sharedRuntime, testRuntime } from '../../../support/runtime.ts';
import { scriptedProvider } from '../../../support/scripted-provider.ts';
import { openSession } from '../../../support/turns.ts';
import { apiOf } from '../../../support/http/request.ts';
import {
  ended,
  endingsIn,
  eventsOf,
  Gate,
  get,
  kindsOf,
  logs,
  ranTo,
  run,
  stdout,
} from '../../../support/processes/work.ts';

const on = sharedRuntime();

const providers = () => ({ providers: [scriptedProvider()] });

test('A process is stored as queued, runs, and completes with its output.', async () => {
  const given = on();
  const queued = await run(given, 'echo out; echo error >&2');
  expect(queued).toEqual({
    process_id: expect.stringMatching(/^proc_[0-9a-f]{32}$/),
    session_id: null,
    command: 'echo out; echo error >&2',
    cwd: process.cwd(),
    status: 'queued',
    pid: null,
    exit_code: null,
    signal: null,
    stdin: 'none',
    outlive: false,
    timeout_ms: 600_000,
    kill_requested_at: null,
    kill_reason: null,
    failure: null,
    stdout_bytes: 0,
    stderr_bytes: 0,
    stdout_truncated: false,
    stderr_truncated: false,
    on_exit: null,
    notice: null,
    caller_id: null,
    queued_at: expect.any(Number),
    started_at: null,
    ended_at: null,
    sandbox: false,
    trimmed: false,
  });
  const over = await ended(given, queued);
  expect(over).toEqual({
    ...queued,
    status: 'completed',
    pid: expect.any(Number),
    exit_code: 0,
    stdout_bytes: 4,
    stderr_bytes: 6,
    started_at: expect.any(Number),
    ended_at: expect.any(Number),
  });
  expect(await get(given, queued)).toEqual(over);
  expect(await logs(given, queued)).toEqual({
    process_id: queued.process_id,
    stdout: {
      content: 'out\n',
      bytes: 4,
      total_bytes: 4,
      truncated: false,
      offset: 0,
      verified: true,
    },
    stderr: {
      content: 'error\n',
      bytes: 6,
      total_bytes: 6,
      truncated: false,
      offset: 0,
      verified: true,
    },
  });
});

test('Each state of a process has an event with its record; only the first has the command.', async () => {
  const given = on();
  const queued = await run(given, 'exit 3');
  const over = await ended(given, queued);
  const events = await eventsOf(given, queued);
  expect(kindsOf(events)).toEqual(['process.queued', 'process.started', 'process.failed']);
  const [first, second, third] = events.map((event) =>
    isIn('process', event) && 'process' in event.payload ? event.payload.process : null,
  );
  expect(first).toEqual(queued);
  const { command: _command, ...rest } = over;
  expect(third).toEqual(rest);
  expect(second).toMatchObject({ status: 'running', pid: over.pid, exit_code: null });
  for (const event of events)
    expect(event).toMatchObject({ scope: 'process', process_id: queued.process_id });
});

test.for<[command: string, end: object]>([
  ['exit 1', { status: 'failed', exit_code: 1, signal: null }],
  ['exit 255', { status: 'failed', exit_code: 255, signal: null }],
  ['kill -SEGV $$', { status: 'failed', exit_code: null, signal: 'SIGSEGV' }],
  ['kill -TERM $$', { status: 'failed', exit_code: null, signal: 'SIGTERM' }],
  ['/no/such/program', { status: 'failed', exit_code: 127, signal: null }],
  ['true', { status: 'completed', exit_code: 0, signal: null }],
])('A process that ends by itself reports how: %s.', async ([command, end]) => {
  const given = on();
  const over = await ranTo(given, command);
  expect(over).toMatchObject({ ...end, failure: null, kill_reason: null });
  expect(endingsIn(await eventsOf(given, over))).toHaveLength(1);
});

test('A process reads the end of file from stdin, and leads a group of its own.', async () => {
  const given = on();
  const over = await ranTo(given, 'cat; ps -o pgid= -p $$ | tr -d " "');
  expect(over.status).toBe('completed');
  expect(await stdout(given, over)).toBe(`${over.pid}\n`);
});

test('A process runs in the directory of its owner, below it, or in the requested directory.', async () => {
  const given = await testRuntime(providers());
  const below = path.join(given.directory, 'below');
  fs.mkdirSync(below);
  const session_id = (await openSession(given.client, given.directory)).id;
  for (const [more, cwd] of [
    [{}, process.cwd()],
    [{ cwd: 'test' }, path.join(process.cwd(), 'test')],
    [{ session_id }, given.directory],
    [{ session_id, cwd: 'below' }, below],
    [{ session_id, cwd: '/' }, '/'],
  ] as const) {
    const over = await ranTo(given, 'pwd', more);
    expect([over.cwd, await stdout(given, over)]).toEqual([cwd, `${cwd}\n`]);
  }
});

test('A process whose directory is gone fails and names the directory.', async () => {
  const given = await testRuntime({ config: { processes: { max_concurrent: 1 } } });
  const gone = path.join(given.directory, 'gone');
  fs.mkdirSync(gone);
  using gate = new Gate(given.directory);
  const first = await run(given, gate.wait);
  const waiting = await run(given, 'true', { cwd: gone });
  fs.rmdirSync(gone);
  gate.open();
  await ended(given, first);
  const over = await ended(given, waiting);
  expect(over).toMatchObject({ status: 'failed', exit_code: null, started_at: null });
  expect(over.failure).toEqual({
    code: 'start_failed',
    message: `the working directory ${gone} no longer exists`,
  });
  const kinds = kindsOf(await eventsOf(given, waiting));
  expect(kinds).toEqual(['process.queued', 'process.failed']);
  expect((await ranTo(given, 'true')).status).toBe('completed');
});

test.for([true, false])(
  'A command above the limit of the system is refused with the limit; allow_shell: %s.',
  async (allow_shell) => {
    const given = await testRuntime({ config: { processes: { allow_shell } } });
    const most = `true ${'x'.repeat(131_071 - (allow_shell ? 5 : 0))}`;
    expect((await ranTo(given, most)).status).toBe('completed');
    await expectError(run(given, `${most}x`), 'invalid', /^command: .*131072 bytes.*131071/);
    expect(await given.client.call(endpoints.listProcesses, {})).toHaveLength(1);
  },
);

test('A process ends with its leader, even if a grandchild holds the pipe open.', async () => {
  const given = on();
  const over = await ranTo(given, 'setsid sleep 300 & echo started; exit 4');
  expect(over).toMatchObject({ status: 'failed', exit_code: 4, stdout_bytes: 8 });
});

test('A list of processes is newest first, in pages, and can be filtered by status.', async () => {
  const given = await testRuntime();
  const all = [];
  for (const command of ['true', 'false', 'exit 7']) all.unshift(await ranTo(given, command));
  const list = (query: object) => given.client.ask(endpoints.listProcesses, { query });
  expect((await list({})).value).toEqual(all);
  expect((await list({ status: 'failed' })).value).toEqual(all.slice(0, 2));
  expect((await list({ status: 'running' })).value).toEqual([]);
  const { value, headers } = await list({ limit: 2 });
  expect(value).toEqual(all.slice(0, 2));
  const rest = await list({ limit: 2, cursor: headers['x-next-cursor'] });
  expect(rest.value).toEqual(all.slice(2));
  expect(rest.headers['x-next-cursor']).toBeUndefined();
});

const onIdle = sharedRuntime();
const onBusy = sharedRuntime();

test.for<[body: object, error: RegExp]>([
  [{ command: '' }, /^body\.command: /],
  [{ command: '  \n\t' }, /^the command is empty$/],
  [{ command: 'echo \0' }, /^the command contains a NUL character$/],
  [{ command: 'true', cwd: '/no/such/place' }, /^cwd "\/no\/such\/place" does not exist$/],
  [{ command: 'true', cwd: 'package.json' }, /^cwd ".*package\.json" is not a directory$/],
  [{ command: 'true', cwd: 'a\0b' }, /^cwd contains a NUL character$/],
  [{ command: 'true', cwd: 'x'.repeat(10_000) }, /^cwd ".*" cannot be used: ENAMETOOLONG$/],
  [{ command: 'true', timeout_ms: -1 }, /^body\.timeout_ms: /],
  [{ command: 'true', timeout_ms: 1.5 }, /^body\.timeout_ms: /],
  [{ command: 'true', timeout_ms: 2_147_483_648 }, /^body\.timeout_ms: /],
  [{ command: 'true', timeout_ms: '5' }, /^body\.timeout_ms: /],
  [{ command: 'true', on_exit: 'restart' }, /^body\.on_exit: /],
  [{ command: 'true', on_exit: 'notify' }, /^on_exit: the process has no session to notify/],
  [{ command: ['true'] }, /^body\.command: /],
  [{ command: 'true', env: {} }, /^body: unknown field "env"/],
  [{}, /^body\.command: /],
])(
  'A bad request is refused with its mistake, and nothing is stored: %j.',
  async ([body, error]) => {
    const given = onIdle();
    const api = apiOf(given);
    const reply = await api('POST', '/v1/processes', { body });
    expect(reply.status).toBe(400);
    expect(reply.json()).toEqual({ code: 'invalid', error: expect.stringMatching(error) });
    expect(await given.client.call(endpoints.listProcesses, {})).toEqual([]);
  },
);

test('A request for an unknown session is 404, and for a closed session 409.', async () => {
  const given = await testRuntime(providers());
  const api = apiOf(given);
  const ask = (session_id: string) =>
    api('POST', '/v1/processes', { body: { command: 'true', session_id } });
  const unknown = await ask('sess_0123');
  expect([unknown.status, unknown.json()]).toMatchObject([404, { code: 'not_found' }]);
  const { id } = await openSession(given.client, given.directory);
  await given.client.call(endpoints.closeSession, { params: { session_id: id }, body: {} });
  const closed = await ask(id);
  expect([closed.status, closed.json()]).toMatchObject([409, { code: 'session_closed' }]);
  expect(await given.client.call(endpoints.listProcesses, {})).toEqual([]);
});

test.for([
  'wait?for=exit:1',
  'wait?for=port:0',
  'wait?for=port:abc',
  'wait?for=port:65536',
  'wait?for=log:',
  'wait?for=nothing',
  'logs?stream=stdin',
  'logs/stream?stream=both',
])('A request for an unknown condition or stream is refused by name: %s.', async (what) => {
  const given = onBusy();
  const { process_id } = await ranTo(given, 'true');
  const reply = await apiOf(given)('GET', `/v1/processes/${process_id}/${what}`);
  expect(reply.status).toBe(400);
  expect(reply.json()).toMatchObject({
    code: 'invalid',
    error: expect.stringMatching(/^query\.(for|stream): /),
  });
});

test('A command without a shell is a program with its words.', async () => {
  const given = await testRuntime({ config: { processes: { allow_shell: false } } });
  const over = await ranTo(given, `printf '%s;' "a b" 'c|d $HOME' e\\ f`);
  expect(over).toMatchObject({ status: 'completed', exit_code: 0 });
  expect(await stdout(given, over)).toBe('a b;c|d $HOME;e f;');
  await expect(run(given, 'no-such-program -v')).rejects.toMatchObject({
    code: 'invalid',
    message: 'command: there is no program "no-such-program" on the PATH of the server',
  });
  await expect(run(given, './no-such-program')).rejects.toMatchObject({
    code: 'invalid',
    message: `command: ${path.join(process.cwd(), 'no-such-program')} is not an executable file`,
  });
});
