import { describe, expect, test } from 'vitest';
import { endpoints } from '../../../../src/api/index.ts';
import { keptPort } from '../../../support/kept-port.ts';
import { sharedRuntime, withRuntime } from '../../../support/runtime.ts';
import { Gate, kill, printed, ranTo, run, type Server } from '../../../support/processes/work.ts';

const on = sharedRuntime();

function wait(
  { client }: Server,
  { process_id }: { process_id: string },
  query: { for?: string; timeout_ms?: number },
) {
  return client.call(endpoints.waitForProcess, { params: { process_id }, query });
}

describe('waiting for the end of a process', () => {
  test('lasts until it has ended; the record is its last.', () =>
    on(async (given) => {
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
    }));

  test('lasts no longer than it was to, and gives the record as it is.', () =>
    on(async (given) => {
      using gate = new Gate(given.directory);
      const started = await run(given, gate.wait);
      for (const timeout_ms of [0, 100])
        expect(await wait(given, started, { timeout_ms })).toMatchObject({
          matched: false,
          process: { process_id: started.process_id },
        });
    }));

  test('is answered for everybody who waits.', () =>
    on(async (given) => {
      using gate = new Gate(given.directory);
      const started = await run(given, gate.wait);
      const waiting = Array.from({ length: 50 }, () => wait(given, started, {}));
      gate.open();
      for (const { matched } of await Promise.all(waiting)) expect(matched).toBe(true);
    }));
});

describe('waiting for a text', () => {
  test.for(['>&1', '>&2'])('lasts until it is printed, on either stream: %s', (stream) =>
    withRuntime(async (given) => {
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
    }),
  );

  test('finds one whose beginning was printed before, also in the middle of a character.', () =>
    on(async (given) => {
      using gate = new Gate(given.directory);
      const started = await run(
        given,
        `printf 'here rea'; ${gate.wait}; printf 'dy \\346'; ${gate.wait}; printf '\\274\\242'; ${gate.wait}`,
      );
      await printed(given, started, 'here');
      const waiting = wait(given, started, { for: 'log:ready 漢', timeout_ms: 5000 });
      gate.open(2);
      expect(await waiting).toMatchObject({ matched: true, process: { status: 'running' } });
    }));

  test('ends with the process where it never comes, and finds what was printed last.', () =>
    on(async (given) => {
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
    }));

  test('finds it in much output, wherever it stands.', () =>
    on(async (given) => {
      const over = await ranTo(given, 'seq 1 300000');
      for (const text of ['1\n2\n', '\n123456\n', '299999\n300000', '300000\n'])
        expect(await wait(given, over, { for: `log:${text}` })).toMatchObject({ matched: true });
      expect(await wait(given, over, { for: 'log:300001' })).toMatchObject({ matched: false });
    }));
});

describe('waiting for a port', () => {
  test('lasts until somebody answers at it.', () =>
    on(async (given) => {
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
    }));

  test('ends with the process where nobody ever answers.', () =>
    on(async (given) => {
      using gate = new Gate(given.directory);
      const started = await run(given, gate.wait);
      const waiting = wait(given, started, { for: `port:${await keptPort()}` });
      gate.open();
      expect(await waiting).toMatchObject({ matched: false, process: { status: 'completed' } });
    }));
});
