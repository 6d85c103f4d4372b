import fs from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { cadreOn } from '../../../support/cli/cadre.ts';
import { apiOf } from '../../../support/http/request.ts';
import { ended, Gate, logs, printed, ranTo, run } from '../../../support/processes/work.ts';
import { sharedRuntime, type TestRuntime, testRuntime } from '../../../support/runtime.ts';

const on = sharedRuntime();

function logOf({ directory }: TestRuntime, id: string, end = 'stdout'): string {
  return path.join(directory, 'logs', `${id}.${end}`);
}

function flipBit(file: string, at: number): void {
  const bytes = fs.readFileSync(file);
  bytes[at]! ^= 1;
  fs.writeFileSync(file, bytes);
}

async function storeHealth(given: TestRuntime): Promise<unknown> {
  const { checks } = (await apiOf(given)('GET', '/v1/health')).json() as {
    checks: { store: object };
  };
  return checks.store;
}

test('The output of an ended process is verified, and the output of a running one is not.', async () => {
  const given = on();
  const over = await ranTo(given, 'echo one');
  expect(await logs(given, over)).toMatchObject({
    stdout: { content: 'one\n', verified: true },
    stderr: { content: '', verified: true },
  });
  using gate = new Gate(given.directory);
  const running = await run(given, `echo two; ${gate.wait}`);
  await printed(given, running, 'two');
  expect(await logs(given, running)).toMatchObject({
    stdout: { content: 'two\n', verified: false },
  });
  gate.open();
  await ended(given, running);
  expect(await logs(given, running)).toMatchObject({ stdout: { verified: true } });
});

test('A changed bit makes each read of the output storage_damaged, and the health names the process.', async () => {
  const given = await testRuntime();
  const over = await ranTo(given, 'echo an answer');
  flipBit(logOf(given, over.process_id), 3);
  const api = apiOf(given);
  const home = `/v1/processes/${over.process_id}`;
  for (const way of ['logs', 'logs?stream=stdout&from_byte=0', 'wait?for=log:answer']) {
    const answer = await api('GET', `${home}/${way}`);
    expect([way, answer.status, answer.json()]).toEqual([
      way,
      500,
      expect.objectContaining({ code: 'storage_damaged' }),
    ]);
  }
  expect(await storeHealth(given)).toEqual({
    status: 'degraded',
    detail: expect.stringContaining(`stdout of process ${over.process_id}`) as unknown,
  });
  const stderr = await api('GET', `${home}/logs?stream=stderr`);
  expect(stderr.status).toBe(200);
});

test('Output without checksums is served unverified, and the command prints that.', async () => {
  const given = await testRuntime();
  const cadre = cadreOn(given);
  const over = await ranTo(given, 'echo one; echo two >&2');
  const read = () => cadre(['processes', 'logs', over.process_id]);
  expect(await read()).toMatchObject({ stdout: 'one\n', stderr: 'two\n' });
  fs.rmSync(logOf(given, over.process_id, 'stdout.sums'));
  expect(await logs(given, over)).toMatchObject({
    stdout: { content: 'one\n', verified: false },
    stderr: { content: 'two\n', verified: true },
  });
  expect(await read()).toMatchObject({
    stdout: 'one\n',
    stderr: 'two\ncadre: stdout not verified: no checksums stored\n',
  });
});
