import { once } from 'node:events';
import net from 'node:net';
import { expect, test } from 'vitest';
import { endpoints } from '../../../../src/api/index.ts';
import { apiOf } from '../../../support/http/request.ts';
import { openStream } from '../../../support/http/stream.ts';
import { testRuntime } from '../../../support/runtime.ts';
import { shared } from '../../../support/shared.ts';
import {
  completed,
  scriptedProvider,
  type ScriptedTurn,
} from '../../../support/scripted-provider.ts';
import { startServer, type TestServer, untilNothingCarries } from '../../../support/server.ts';
import { tempDirectory, testDirectory } from '../../../support/temp.ts';
import { openSession, send } from '../../../support/turns.ts';
import {
  ended,
  eventsOf,
  Gate,
  get,
  kill,
  kindsOf,
  logs,
  printed,
  ranTo,
  run,
} from '../../../support/processes/work.ts';

/** Runs `before` on a server that is then killed, and `after` on the next one. */
async function acrossKill<T>(
  before: (server: TestServer) => Promise<T>,
  after: (server: TestServer, left: T) => Promise<void>,
  env: Record<string, string> = {},
): Promise<void> {
  await using place = tempDirectory('restart');
  let server = await startServer(place.path, { env });
  try {
    const left = await before(server);
    await server.end('SIGKILL');
    server = await startServer(place.path, { env });
    await after(server, left);
  } finally {
    await server.end('SIGKILL');
    await untilNothingCarries(place.path);
  }
}

const afterKill = shared<{ server: TestServer } & Awaited<ReturnType<typeof leave>>>(
  'server that was killed',
  (use) =>
    acrossKill(leave, (server, left) => use({ server, ...left }), {
      CADRE_PROCESSES_MAX_OUTPUT_BYTES_PER_PROCESS: '2000',
    }),
);

test('Running and queued processes fail with runtime_restarted once, and ended ones stay as they were.', () =>
  acrossKill(
    async (server) => {
      const over = await ranTo(server, 'echo over; exit 3');
      const running = await run(server, 'echo one; echo two >&2; exec sleep 300');
      const queued = await run(server, 'echo never');
      await printed(server, running, 'one');
      await printed(server, running, 'two');
      return { over, running, queued };
    },
    async (server, { over, running, queued }) => {
      const failed = {
        status: 'failed',
        exit_code: null,
        signal: null,
        failure: { code: 'runtime_restarted', message: expect.any(String) },
        ended_at: expect.any(Number),
      };
      expect(await get(server, running)).toMatchObject({
        ...failed,
        pid: expect.any(Number),
        stdout_bytes: 4,
        stderr_bytes: 4,
      });
      expect(await get(server, queued)).toMatchObject({
        ...failed,
        pid: null,
        started_at: null,
        stdout_bytes: 0,
      });
      expect(await get(server, over)).toEqual(over);
      expect(await logs(server, running)).toMatchObject({
        stdout: { content: 'one\n', truncated: false },
        stderr: { content: 'two\n' },
      });
      for (const [one, kinds] of [
        [over, ['process.queued', 'process.started', 'process.failed']],
        [running, ['process.queued', 'process.started', 'process.failed']],
        [queued, ['process.queued', 'process.failed']],
      ] as const)
        expect(kindsOf(await eventsOf(server, one))).toEqual(kinds);
      const recovery = await server.client.call(endpoints.getRecovery, {});
      expect(recovery).toMatchObject({
        previous_stop: 'unclean',
        processes_failed: [running.process_id, queued.process_id],
      });

      const stream = await openStream(server, {
        path: `/v1/processes/${running.process_id}/logs/stream`,
      });
      expect(await stream.ended).toBe('ended');
      expect(stream.text()).toContain('"text":"one\\n"');
      expect(stream.text()).toMatch(/event: end\ndata: \{\}\n\n$/);
      expect(await kill(server, running)).toMatchObject(failed);
      expect((await ended(server, queued)).status).toBe('failed');
      expect((await ranTo(server, 'true')).status).toBe('completed');
    },
    { CADRE_PROCESSES_MAX_CONCURRENT: '1' },
  ));

test('A log without its middle reads the same after the restart.', async () => {
  const { server, log } = afterKill();
  const { over, running, tails } = log;
  expect([await logs(server, over), await logs(server, running)]).toEqual(tails);
  const { stdout_bytes, stdout_truncated } = await get(server, running);
  expect({ stdout_bytes, stdout_truncated }).toEqual({
    stdout_bytes: 23_893 + 11,
    stdout_truncated: true,
  });
});

test('The owner of a lost process gets a notice with the end of its output.', async () => {
  const { server, owner } = afterKill();
  const params = { session_id: owner };
  const [turn] = await server.client.call(endpoints.listTurns, { params });
  expect(turn?.source).toBe('process_exit');
  expect(JSON.stringify(turn?.input)).toContain(
    String.raw`<process_output stream=\"stdout\" untrusted=\"true\">\nlast words\n</process_output>`,
  );
});

test('A repeated request with its Idempotency-Key returns the existing process.', async () => {
  const { server, answer } = afterKill();
  const again = await askWithKey(server);
  expect(again.headers['idempotency-replayed']).toBe('true');
  expect(again.json()).toEqual(answer);
  const all = await server.client.call(endpoints.listProcesses, {});
  expect(all.filter(({ command }) => command === keyed.command)).toHaveLength(1);
});

const keyed = { command: 'exec sleep 301' };

function askWithKey(server: TestServer) {
  const headers = { 'idempotency-key': 'the-key' };
  return apiOf(server)('POST', '/v1/processes', { body: keyed, headers });
}

/** Leaves logs with a dropped middle, a process that notifies its session, and a process of a keyed request. */
async function leave(server: TestServer) {
  const over = await ranTo(server, 'seq 1 5000');
  const running = await run(server, 'seq 1 5000; echo up to here; exec sleep 300');
  await printed(server, running, 'up to here');
  const tails = [await logs(server, over), await logs(server, running)];

  const { id: owner } = await openSession(server.client, server.directory);
  const more = { session_id: owner, on_exit: 'notify' as const };
  const started = await run(server, 'echo last words; exec sleep 300', more);
  await printed(server, started, 'last words');

  const answer = (await askWithKey(server)).json();
  return { log: { over, running, tails }, owner, answer };
}

const headers = { 'idempotency-key': 'k' };

test('A refusal because of a full queue is not stored for its key: the same request succeeds later.', async () => {
  const given = await testRuntime({
    config: { processes: { max_concurrent: 1, max_queued: 0 } },
  });
  using gate = new Gate(given.directory);
  const first = await run(given, gate.wait);
  const ask = () => apiOf(given)('POST', '/v1/processes', { body: { command: 'true' }, headers });
  expect((await ask()).status).toBe(429);
  gate.open();
  await ended(given, first);
  expect((await ask()).status).toBe(200);
});

test('A stopping server starts no process, not even one that was requested before.', async () => {
  const place = testDirectory('stop');
  const provider = scriptedProvider();
  const first = await testRuntime({
    directory: place,
    providers: [provider],
    config: { server: { bind_address: '127.0.0.1:0', drain_ms: 10_000 } },
  });
  // A running turn delays the stop of the server.
  const { id } = await openSession(first.client, place);
  await send(first.client, id, 'work');
  const turn: ScriptedTurn = await provider.nextTurn();
  const body = JSON.stringify({ command: 'exec sleep 300' });
  const { hostname, port } = new URL(first.url);
  const socket = net.connect({ host: hostname, port: Number(port) });
  await once(socket, 'connect');
  socket.write(
    `POST /v1/processes HTTP/1.1\r\nHost: ${hostname}\r\nAuthorization: Bearer ${first.token}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n{`,
  );
  const stream = await openStream(first);
  const stopping = first.runtime.stop();
  await stream.until((one) => one.events().some(({ kind }) => kind === 'runtime.stopping'));
  const late = run(first, 'true').catch((error: unknown) => error);
  expect(await late).toMatchObject({ code: expect.stringMatching(/shutting_down|unreachable/) });
  socket.write(body.slice(1));
  const [answer] = (await once(socket, 'data')) as [Buffer];
  turn.end(completed);
  await stopping;

  const second = await testRuntime({ providers: [scriptedProvider()], directory: place });
  const all = await second.client.call(endpoints.listProcesses, {});
  expect(all).toHaveLength(answer.toString().startsWith('HTTP/1.1 200') ? 1 : 0);
  for (const one of all)
    expect(one).toMatchObject({
      status: 'failed',
      failure: { code: 'runtime_restarted' },
      started_at: null,
    });
});
