import fs from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { identify, isAlive } from '../../../../src/core/children/identity.ts';
import { carriersOf } from '../../../../src/core/children/procfs.ts';
import { endpoints } from '../../../../src/api/index.ts';
import { sharedRuntime, type TestRuntimeOptions, testRuntime } from '../../../support/runtime.ts';
import { scriptedProvider } from '../../../support/scripted-provider.ts';
import { testDirectory } from '../../../support/temp.ts';
import { openSession } from '../../../support/turns.ts';
import { expectEventually } from '../../../support/expect-eventually.ts';
import { seeded } from '../../../campaigns/crash/random.ts';
import {
  ended,
  endingsIn,
  eventsOf,
  Gate,
  get,
  kill,
  kindsOf,
  printed,
  ranTo,
  run,
  stdout,
} from '../../../support/processes/work.ts';
import { scaled } from '../../../support/patience.ts';

const on = sharedRuntime();

const grace = (kill_grace_ms: number): TestRuntimeOptions => ({
  config: { processes: { kill_grace_ms } },
});

/** Returns the ids of all running descendants of a process, including those that have left its group. */
function left(processId: string): number[] {
  return carriersOf(`CADRE_PROCESS_ID=${processId}`).filter((pid) => {
    const found = identify(pid);
    return found !== undefined && isAlive(found);
  });
}

test('A kill is answered once it is stored, and ends the process with its reason.', async () => {
  const given = on();
  const started = await run(given, 'echo here; exec sleep 300');
  await printed(given, started, 'here');
  const asked = await kill(given, started, 'changed my mind');
  expect(asked).toMatchObject({ process_id: started.process_id, stdout_bytes: 5 });
  expect(await ended(given, started)).toMatchObject({
    status: 'killed',
    kill_reason: 'changed my mind',
    exit_code: null,
    signal: 'SIGTERM',
    stdout_bytes: 5,
  });
  expect(kindsOf(await eventsOf(given, started))).toEqual([
    'process.queued',
    'process.started',
    'process.kill_requested',
    'process.killed',
  ]);
});

test('The kill of an ended process returns it unchanged, without an event.', async () => {
  const given = on();
  const over = await ranTo(given, 'exit 2');
  const before = await eventsOf(given, over);
  expect(await kill(given, over, 'too late')).toEqual(over);
  expect(await eventsOf(given, over)).toEqual(before);
});

test('A killed process can end with its own exit code within the grace period.', async () => {
  const given = on();
  const started = await run(
    given,
    `trap 'echo cleaned up; exit 7' TERM; echo here; while :; do sleep 0.05; done`,
  );
  await printed(given, started, 'here');
  await kill(given, started);
  expect(await ended(given, started)).toMatchObject({ status: 'killed', exit_code: 7 });
  expect(await stdout(given, started)).toBe('here\ncleaned up\n');
});

test('A kill sends TERM first, and KILL after the grace period.', async () => {
  const given = await testRuntime(grace(scaled(1000)));
  const started = await run(
    given,
    `trap 'echo ignored' TERM; echo here; while :; do sleep 0.05; done`,
  );
  await printed(given, started, 'here');
  await kill(given, started);
  expect(await ended(given, started)).toMatchObject({ status: 'killed', signal: 'SIGKILL' });
  expect(await stdout(given, started)).toBe('here\nignored\n');
});

test('The grace period holds for the whole group, even if its leader ends first.', async () => {
  const given = on();
  const child = `trap 'sleep 0.2; echo child cleaned up; exit' TERM; echo here; while :; do sleep 0.05; done`;
  const started = await run(given, `sh -c '${child.replaceAll("'", String.raw`'\''`)}' & wait; :`);
  await printed(given, started, 'here');
  await kill(given, started);
  await ended(given, started);
  expect(await stdout(given, started)).toBe('here\nchild cleaned up\n');
});

test('A kill ends a tree of 50 processes that ignore TERM, left the group or session, or hold the pipe.', async () => {
  const given = await testRuntime(grace(100));
  const tree = `
        i=0
        while [ $i -lt 10 ]; do i=$((i+1))
          sleep 300 &
          (trap '' TERM; sleep 300) &
          setsid sleep 300 &
          (setsid sh -c 'sleep 300 & sleep 300') &
        done
        echo planted
        wait`;
  const started = await run(given, tree);
  await printed(given, started, 'planted');
  await expectEventually(() => left(started.process_id).length).toBeGreaterThanOrEqual(50);
  await kill(given, started);
  expect(await ended(given, started)).toMatchObject({ status: 'killed' });
  await expectEventually(() => left(started.process_id), 1000).toEqual([]);
});

test('A second kill does not change the reason of the first.', async () => {
  const given = await testRuntime(grace(200));
  const started = await run(given, `trap '' TERM; echo here; while :; do sleep 0.05; done`);
  await printed(given, started, 'here');
  await kill(given, started, 'first');
  await kill(given, started, 'second');
  expect(await ended(given, started)).toMatchObject({ kill_reason: 'first' });
  expect(endingsIn(await eventsOf(given, started))).toHaveLength(1);
});

test.for([{ reason: 'x'.repeat(1001) }, { reason: 5 }, { why: 'x' }])(
  'A kill with a wrong body is refused, and kills nothing: %j.',
  async (body) => {
    const given = on();
    using gate = new Gate(given.directory);
    const { process_id } = await run(given, gate.wait);
    const params = { process_id };
    const asked = given.client.call(endpoints.killProcess, { params, body: body as object });
    await expect(asked).rejects.toMatchObject({ code: 'invalid' });
    gate.open();
    expect((await ended(given, { process_id })).status).toBe('completed');
  },
);

test('A process whose time is up is timed out, and keeps its output.', async () => {
  const given = on();
  const command = 'echo before; sleep 300; echo after';
  const over = await ranTo(given, command, { timeout_ms: scaled(1000) });
  expect(over).toMatchObject({ status: 'timed_out', kill_reason: null, failure: null });
  expect(await stdout(given, over)).toBe('before\n');
  expect(kindsOf(await eventsOf(given, over))).toEqual([
    'process.queued',
    'process.started',
    'process.timed_out',
  ]);
});

test('A process without timeout_ms has the configured time limit, and one with timeout_ms 0 has none.', async () => {
  const given = await testRuntime({ config: { processes: { default_timeout_ms: 50 } } });
  using gate = new Gate(given.directory);
  const free = await run(given, gate.wait, { timeout_ms: 0 });
  for (let i = 0; i < 3; i++)
    expect(await ranTo(given, 'sleep 300')).toMatchObject({
      status: 'timed_out',
      timeout_ms: 50,
    });
  expect(await get(given, free)).toMatchObject({ status: 'running', timeout_ms: 0 });
  gate.open();
  expect((await ended(given, free)).status).toBe('completed');
});

test('A process whose time is up stays timed out if somebody kills it during the grace period.', async () => {
  const given = await testRuntime(grace(scaled(400)));
  const command = `trap 'echo term' TERM; while :; do sleep 0.02; done`;
  // Before its time is up it has to have come to its trap.
  const started = await run(given, command, { timeout_ms: scaled(1000) });
  await printed(given, started, 'term');
  await kill(given, started, 'too late');
  expect(await ended(given, started)).toMatchObject({
    status: 'timed_out',
    kill_reason: null,
  });
});

const races = Number(process.env.RACES || 20);
const seed = Number(process.env.SEED || Date.now() % 2 ** 31);

test(
  'However a kill, a time limit and an exit race, there is one ending, and the record is what it says.',
  { timeout: scaled(60_000 + races * 200) },
  async () => {
    const given = await testRuntime();
    const random = seeded(seed);
    const results: Record<string, number> = {};
    const race = async () => {
      const [timeout_ms, pause] = [random.between(1, 25), random.between(0, 25)];
      const command = `sleep 0.0${random.between(0, 20).toString().padStart(2, '0')}`;
      const started = await run(given, command, { timeout_ms });
      const before = performance.now();
      while (performance.now() - before < pause) await get(given, started);
      await kill(given, started, 'race');
      const over = await ended(given, started);
      const events = await eventsOf(given, started);
      const endings = endingsIn(events);
      expect(
        endings.map(({ kind }) => kind),
        `SEED=${seed}`,
      ).toEqual([`process.${over.status}`]);
      expect(events.at(-1)).toEqual(endings[0]);
      expect(['completed', 'killed', 'timed_out']).toContain(over.status);
      if (over.status === 'completed') expect(over).toMatchObject({ exit_code: 0, signal: null });
      results[over.status] = (results[over.status] ?? 0) + 1;
    };
    for (let done = 0; done < races; done += 5) await Promise.all(Array.from({ length: 5 }, race));
    process.stdout.write(`races: ${JSON.stringify(results)}, SEED=${seed}\n`);
  },
);

test('The close of a session kills its running and queued processes, and no others.', async () => {
  const given = await testRuntime({
    config: { processes: { max_concurrent: 2 } },
    providers: [scriptedProvider()],
  });
  using gate = new Gate(given.directory);
  const { id: session_id } = await openSession(given.client, given.directory);
  const other = await run(given, gate.wait);
  const running = await run(given, 'echo here; exec sleep 300', { session_id });
  const queued = await run(given, 'true', { session_id });
  await printed(given, running, 'here');
  const params = { session_id };
  await given.client.call(endpoints.closeSession, { params, body: {} });
  for (const one of [running, queued])
    expect(await ended(given, one)).toMatchObject({
      status: 'killed',
      kill_reason: 'session_closed',
    });
  const events = await given.client.call(endpoints.replaySessionEvents, { params });
  const tail = kindsOf(events).slice(-3);
  expect(tail).toEqual(['session.closed', 'process.killed', 'process.killed']);
  gate.open();
  expect((await ended(given, other)).status).toBe('completed');
});

test('An orderly stop kills every running and queued process with a reason, and leaves none.', async () => {
  const place = testDirectory('stop');
  const config = { processes: { max_concurrent: 1, kill_grace_ms: 100 } };
  const first = await testRuntime({ config, directory: place });
  const running = await run(
    first,
    `trap '' TERM; setsid sleep 300 & echo here; while :; do sleep 0.05; done`,
  );
  const queued = await run(first, 'true');
  await printed(first, running, 'here');
  await first.stop();
  expect(left(running.process_id)).toEqual([]);

  const second = await testRuntime({ directory: place });
  for (const one of [running, queued]) {
    expect(await get(second, one)).toMatchObject({
      status: 'killed',
      kill_reason: 'runtime_stopping',
    });
    expect(endingsIn(await eventsOf(second, one))).toHaveLength(1);
  }
  const recovery = await second.client.call(endpoints.getRecovery, {});
  expect(recovery).toMatchObject({ previous_stop: 'clean', processes_failed: [] });
});

test('An orderly stop keeps all output, also the output after TERM.', async () => {
  const place = testDirectory('stop');
  const first = await testRuntime({ directory: place });
  const started = await run(
    first,
    `trap 'echo goodbye; exit' TERM; echo here; while :; do sleep 0.05; done`,
  );
  await printed(first, started, 'here');
  await first.stop();
  expect(fs.readFileSync(path.join(place, 'logs', `${started.process_id}.stdout`), 'utf8')).toBe(
    'here\ngoodbye\n',
  );
});
