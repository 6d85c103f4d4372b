import fs from 'node:fs';
import { expect, test } from 'vitest';
import { endpoints } from '../../../../src/api/index.ts';
import type { Process } from '../../../../src/api/processes.ts';
import { framesOf, isRestart } from '../../../../src/client/frames.ts';
import { signal } from '../../../../src/core/children/identity.ts';
import { expectError } from '../../../support/an-error.ts';
import { startCadre } from '../../../support/cli/cadre.ts';
import { expectEventually } from '../../../support/expect-eventually.ts';
import {
  ended,
  endingsIn,
  eventsOf,
  Gate,
  get,
  kill,
  logs,
  printed,
  run,
  stdout,
} from '../../../support/processes/work.ts';
import { type StartNext, type TestServer, withServers } from '../../../support/server.ts';
import { openSession } from '../../../support/turns.ts';

/** Runs a test with servers on one directory, and with commands that wait for the test. */
const withGate = (use: (start: StartNext, gate: Gate) => Promise<void>): Promise<void> =>
  withServers(async (start, directory) => {
    using gate = new Gate(directory);
    await use(start, gate);
  });

const outlive = { outlive: true };

/** Returns the output as the events of a process have announced it; it has to be without a gap. */
async function announcedBy(server: TestServer, process: Process): Promise<string> {
  let text = '';
  for (const { kind, payload } of await eventsOf(server, process)) {
    if (kind !== 'process.output') continue;
    expect(payload.offset).toBe(Buffer.byteLength(text));
    text += String(payload.text);
  }
  return text;
}

const isAlive = ({ pid }: Process) => signal(pid ?? 0, 0) !== 'gone';

test('A process with outlive continues after the server was killed, and its output is stored once and without a gap.', () =>
  withGate(async (start, gate) => {
    const first = await start();
    const command = `echo one; echo warning >&2; ${gate.wait}; echo two; ${gate.wait}; echo three; exit 7`;
    const begun = await run(first, command, outlive);
    await printed(first, begun, 'one');
    const { pid } = await get(first, begun);
    await first.end('SIGKILL');

    const second = await start();
    expect(await get(second, begun)).toMatchObject({ status: 'running', pid });
    gate.open();
    await printed(second, begun, 'two');
    await second.end('SIGKILL');

    const third = await start();
    gate.open();
    expect(await ended(third, begun)).toMatchObject({
      status: 'failed',
      exit_code: 7,
      pid,
      stdout_bytes: 14,
      stderr_bytes: 8,
    });
    const { stdout: out, stderr } = await logs(third, begun);
    expect(out).toMatchObject({ content: 'one\ntwo\nthree\n', verified: true });
    expect(stderr).toMatchObject({ content: 'warning\n', verified: true });
    expect(endingsIn(await eventsOf(third, begun))).toHaveLength(1);
    const recovery = await third.client.call(endpoints.getRecovery, {});
    expect(recovery).toMatchObject({
      processes_attached: [begun.process_id],
      processes_failed: [],
      orphans_killed: [],
    });
  }));

test('The events of a process that was taken over announce all its output.', () =>
  withGate(async (start, gate) => {
    const first = await start();
    const begun = await run(first, `echo one; ${gate.wait}; echo two; ${gate.wait}`, outlive);
    // The first server dies before it has announced the output that is in the log.
    await expectEventually(() => stdout(first, begun)).toBe('one\n');
    await first.end('SIGKILL');

    const second = await start();
    gate.open();
    await printed(second, begun, 'two');
    await expectEventually(() => announcedBy(second, begun)).toBe('one\ntwo\n');
  }));

test('A process that exits while no server runs has its output, its exit code and its notice.', () =>
  withGate(async (start, gate) => {
    const first = await start();
    const session = await openSession(first.client, first.directory);
    const begun = await run(first, `${gate.wait}; echo last words; exit 3`, {
      ...outlive,
      session_id: session.id,
      on_exit: 'notify',
    });
    await expectEventually(async () => (await get(first, begun)).status).toBe('running');
    const running = await get(first, begun);
    await first.end('SIGKILL');
    gate.open();
    await expectEventually(() => isAlive(running)).toBe(false);

    const second = await start();
    expect(await ended(second, begun)).toMatchObject({ status: 'failed', exit_code: 3 });
    expect(await stdout(second, begun)).toBe('last words\n');
    await expectEventually(async () => (await get(second, begun)).notice).toBe('delivered');
  }));

test('A hand-over ends waits and log streams of a process that continues, and reports no end of the process.', () =>
  withServers(async (start) => {
    const first = await start();
    const begun = await run(first, 'echo one; sleep 600', outlive);
    await printed(first, begun, 'one');
    const params = { process_id: begun.process_id };
    const input = { params, query: { stream: 'stdout' as const } };
    const frames = framesOf(await first.client.open(endpoints.streamProcessLogs, input));
    const seen: (string | undefined)[] = [];
    const follow = async () => {
      for await (const { event } of frames) seen.push(event);
    };
    const lost = follow().catch((error: unknown) => error);
    await expectEventually(() => seen).toEqual(['log']);
    const waited = first.client.call(endpoints.waitForProcess, { params });
    await get(first, begun);
    await first.end('SIGUSR2');
    expect(await waited).toMatchObject({ matched: false, process: { status: 'running' } });
    expect(isRestart((await lost) as Error)).toBe(true);
    expect(seen).toEqual(['log']);
    expect(await get(await start(), begun)).toMatchObject({ status: 'running' });
  }));

test('A process without outlive ends with the server that was killed, also beside one that continues.', () =>
  withServers(async (start) => {
    const first = await start();
    const [stays, goes] = [await run(first, 'sleep 600', outlive), await run(first, 'sleep 600')];
    await expectEventually(async () => (await get(first, stays)).status).toBe('running');
    await first.end('SIGKILL');

    const second = await start();
    expect(await get(second, goes)).toMatchObject({
      status: 'failed',
      failure: { code: 'runtime_restarted' },
    });
    expect(await get(second, stays)).toMatchObject({ status: 'running' });
  }));

test('A process whose end was requested before the server was killed is killed by the next server, with the reason.', () =>
  withServers(async (start) => {
    const first = await start({ env: { CADRE_PROCESSES_KILL_GRACE_MS: '60000' } });
    const begun = await run(first, "trap '' TERM; echo up; while :; do sleep 1; done", outlive);
    await printed(first, begun, 'up');
    const asked = await kill(first, begun, 'no longer needed');
    expect(asked).toMatchObject({ status: 'running', kill_requested_at: expect.any(Number) });
    await first.end('SIGKILL');

    const second = await start({ env: { CADRE_PROCESSES_KILL_GRACE_MS: '0' } });
    expect(await ended(second, begun)).toMatchObject({
      status: 'killed',
      kill_reason: 'no longer needed',
    });
  }));

test('The time limit of a process counts from its start, whichever server has started it.', () =>
  withServers(async (start) => {
    const first = await start();
    const begun = await run(first, 'echo up; sleep 600', { ...outlive, timeout_ms: 1500 });
    await printed(first, begun, 'up');
    await first.end('SIGKILL');

    const second = await start();
    const { status, started_at, ended_at } = await ended(second, begun);
    expect(status).toBe('timed_out');
    expect((ended_at ?? 0) - (started_at ?? 0)).toBeGreaterThanOrEqual(1500);
  }));

test('A server that is replaced with --take-over leaves the processes with outlive to the next one.', () =>
  withGate(async (start, gate) => {
    const first = await start();
    const begun = await run(first, `echo one; ${gate.wait}; echo two`, outlive);
    await printed(first, begun, 'one');

    const second = await start({ args: ['--take-over'] });
    expect(await first.exited).toEqual({ code: 0, signal: null });
    gate.open();
    expect(await ended(second, begun)).toMatchObject({ status: 'completed' });
    expect(await announcedBy(second, begun)).toBe('one\ntwo\n');
  }));

test.for(['--follow', '--wait'])(
  'cadre processes run --outlive %s waits for the next server, and exits with the code of the process.',
  (how) =>
    withGate(async (start, gate) => {
      const { directory, client } = await start();
      const command = `echo one; ${gate.wait}; echo two; exit 3`;
      const words = ['processes', 'run', '--outlive', how, command];
      const run = startCadre(directory, ['--data-dir', directory, ...words]);
      await expectEventually(async () => {
        const [begun] = await client.call(endpoints.listProcesses, { query: {} });
        return begun && stdout({ client }, begun);
      }).toBe('one\n');
      await start({ args: ['--take-over'] });
      gate.open();
      const { code, stdout: printed } = await run.ended;
      expect({ code, printed }).toEqual({
        code: 3,
        printed: how === '--follow' ? 'one\ntwo\n' : 'failed: exit code 3\n',
      });
    }),
);

test('A server that stops ends its processes, also those with outlive.', () =>
  withServers(async (start) => {
    const first = await start();
    const begun = await run(first, 'echo up; sleep 600', outlive);
    await printed(first, begun, 'up');
    await first.end('SIGTERM');

    const second = await start();
    expect(await get(second, begun)).toMatchObject({
      status: 'killed',
      kill_reason: 'runtime_stopping',
    });
  }));

test('A process with outlive ends if no server takes it over within server.reattach_ms.', () =>
  withServers(async (start) => {
    const first = await start({ env: { CADRE_SERVER_REATTACH_MS: '300' } });
    const begun = await run(first, 'echo up; sleep 600', outlive);
    await printed(first, begun, 'up');
    const running = await get(first, begun);
    await first.end('SIGKILL');
    await expectEventually(() => isAlive(running)).toBe(false);

    const second = await start();
    expect(await get(second, begun)).toMatchObject({
      status: 'failed',
      failure: { code: 'runtime_restarted' },
    });
    expect(await stdout(second, begun)).toBe('up\n');
  }));

test('Output beyond the limit of a log continues at the right place after a kill.', () =>
  withGate(async (start, gate) => {
    const small = { env: { CADRE_PROCESSES_MAX_OUTPUT_BYTES_PER_PROCESS: '4000' } };
    const first = await start(small);
    const count = (from: number, to: number) => `seq -f 'line %06g' ${from} ${to}`;
    const command = `${count(1, 400)}; ${gate.wait}; ${count(401, 500)}`;
    const begun = await run(first, command, outlive);
    await printed(first, begun, 'line 000400');
    await first.end('SIGKILL');

    const second = await start({ env: { CADRE_PROCESSES_MAX_OUTPUT_BYTES_PER_PROCESS: '2000' } });
    gate.open();
    const { stdout_bytes, stdout_truncated } = await ended(second, begun);
    expect([stdout_bytes, stdout_truncated]).toEqual([500 * 12, true]);
    const { stdout: out } = await logs(second, begun);
    const line = (at: number) => `line ${String(at).padStart(6, '0')}\n`;
    expect(out).toMatchObject({ verified: true });
    const last = Array.from({ length: 80 }, (_, at) => line(421 + at)).join('');
    expect(out?.content.endsWith(last)).toBe(true);
    const begin = await logs(second, begun, { stream: 'stdout', from_byte: 0 });
    expect(begin.stdout?.content.startsWith(line(1) + line(2))).toBe(true);
  }));

test('A process that left descendants with its pipes ends, and the descendants with it.', () =>
  withGate(async (start, gate) => {
    const first = await start();
    const pidFile = `${first.directory}/pid`;
    const command = `setsid sh -c 'echo $$ >${pidFile}; sleep 600' & ${gate.wait}; echo end`;
    const begun = await run(first, command, outlive);
    await expectEventually(() => fs.readFileSync(pidFile, 'utf8')).toMatch(/\d+\n/);
    await first.end('SIGKILL');

    const second = await start();
    gate.open();
    expect(await ended(second, begun)).toMatchObject({ status: 'completed' });
    expect(await stdout(second, begun)).toBe('end\n');
  }));

test('A process with outlive is refused without server.reattach_ms, and with input.', () =>
  withServers(async (start) => {
    const first = await start({ env: { CADRE_SERVER_REATTACH_MS: '0' } });
    await expectError(
      run(first, 'true', outlive),
      'invalid',
      /set server\.reattach_ms in the configuration/,
    );
    await first.end('SIGTERM');

    const second = await start();
    await expectError(
      run(second, 'true', { ...outlive, stdin: 'pipe' }),
      'invalid',
      /a process that reads input ends with the server/,
    );
  }));
