import { expect, test } from 'vitest';
import { endpoints } from '../../../../src/api/index.ts';
import { keptPort } from '../../../support/kept-port.ts';
import { sharedRuntime, testRuntime } from '../../../support/runtime.ts';
import { Gate, kill, printed, run, type Server } from '../../../support/processes/work.ts';

const on = sharedRuntime();

function wait(
  { client }: Server,
  { process_id }: { process_id: string },
  query: { for?: string; timeout_ms?: number },
) {
  return client.call(endpoints.waitForProcess, { params: { process_id }, query });
}

test('A wait for the end of a process lasts until it has ended, and returns the last record.', async () => {
  const given = on();
  using gate = new Gate(given.directory);
  const started = await run(given, `${gate.wait}; exit 5`);
  const waiting = wait(given, started, {});
  gate.open();
  const { process, matched } = await waiting;
  expect(matched).toBe(true);
  expect(process).toMatchObject({ status: 'failed', exit_code: 5 });
  expect(await wait(given, started, { for: 'exit', timeout_ms: 0 })).toEqual({
    process,
    matched: true,
  });
});

test('A wait ends at its time limit with the current record.', async () => {
  const given = on();
  using gate = new Gate(given.directory);
  const started = await run(given, gate.wait);
  for (const timeout_ms of [0, 100])
    expect(await wait(given, started, { timeout_ms })).toMatchObject({
      matched: false,
      process: { process_id: started.process_id },
    });
});

test('Every client that waits for the end of a process gets an answer.', async () => {
  const given = on();
  using gate = new Gate(given.directory);
  const started = await run(given, gate.wait);
  const waiting = Array.from({ length: 50 }, () => wait(given, started, {}));
  gate.open();
  for (const { matched } of await Promise.all(waiting)) expect(matched).toBe(true);
});

test.for(['>&1', '>&2'])(
  'A wait for a text lasts until a stream has the text: %s.',
  async (stream) => {
    const given = await testRuntime();
    using gate = new Gate(given.directory);
    const started = await run(
      given,
      `${gate.wait}; echo 'it is ready: now' ${stream}; ${gate.wait}`,
    );
    const waiting = wait(given, started, { for: 'log:ready: n' });
    gate.open();
    expect(await waiting).toMatchObject({ matched: true, process: { status: 'running' } });
    expect(await wait(given, started, { for: 'log:ready', timeout_ms: 0 })).toMatchObject({
      process: { status: 'running' },
    });
  },
);

test('A wait finds a text whose beginning was printed before, even within a character.', async () => {
  const given = on();
  using gate = new Gate(given.directory);
  const started = await run(
    given,
    `printf 'here rea'; ${gate.wait}; printf 'dy \\346'; ${gate.wait}; printf '\\274\\242'; ${gate.wait}`,
  );
  await printed(given, started, 'here');
  const waiting = wait(given, started, { for: 'log:ready 漢', timeout_ms: 5000 });
  gate.open(2);
  expect(await waiting).toMatchObject({ matched: true, process: { status: 'running' } });
});

test('A wait for a text ends with the process, and finds text that was printed last.', async () => {
  const given = on();
  using gate = new Gate(given.directory);
  const started = await run(given, `${gate.wait}; printf last`);
  const [never, last] = [
    wait(given, started, { for: 'log:lasting' }),
    wait(given, started, { for: 'log:last' }),
  ];
  gate.open();
  expect(await never).toMatchObject({ matched: false, process: { status: 'completed' } });
  expect(await last).toMatchObject({ matched: true });
  expect(await wait(given, started, { for: 'log:last' })).toMatchObject({ matched: true });
});

test('A wait for a port lasts until a program listens on it.', async () => {
  const given = on();
  const port = await keptPort();
  using gate = new Gate(given.directory);
  const listen = `require("net").createServer().listen(${port}, "127.0.0.1")`;
  const started = await run(given, `${gate.wait}; exec '${process.execPath}' -e '${listen}'`);
  const query = { for: `port:${port}` };
  expect(await wait(given, started, { ...query, timeout_ms: 100 })).toMatchObject({
    matched: false,
    process: { status: 'running' },
  });
  gate.open();
  expect(await wait(given, started, query)).toMatchObject({ matched: true });
  await kill(given, started);
});

test('A wait for a port that nobody opens ends with the process.', async () => {
  const given = on();
  using gate = new Gate(given.directory);
  const started = await run(given, gate.wait);
  const waiting = wait(given, started, { for: `port:${await keptPort()}` });
  gate.open();
  expect(await waiting).toMatchObject({ matched: false, process: { status: 'completed' } });
});
