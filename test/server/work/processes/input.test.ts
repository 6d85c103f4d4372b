import { expect, test } from 'vitest';
import { expectError } from '../../../support/an-error.ts';
import type { BodyInputOf } from '../../../../src/api/endpoint.ts';
import { endpoints } from '../../../../src/api/index.ts';
import type { writeToProcess } from '../../../../src/api/processes.ts';
import { sharedRuntime } from '../../../support/runtime.ts';
import { scriptedProvider } from '../../../support/scripted-provider.ts';
import {
  ended,
  get,
  kill,
  printed,
  run,
  type Server,
  stdout,
} from '../../../support/processes/work.ts';

const onRuntime = sharedRuntime({ providers: [scriptedProvider()] });

function write(
  { client }: Server,
  { process_id }: { process_id: string },
  body: BodyInputOf<typeof writeToProcess>,
) {
  return client.call(endpoints.writeToProcess, { params: { process_id }, body });
}

test('The input of a process is the sent text and bytes in order, up to its end.', async () => {
  const given = onRuntime();
  const process = await run(given, 'cat; echo over', { stdin: 'pipe' });
  expect(await write(given, process, { data: 'é\n' })).toEqual({
    process_id: process.process_id,
    bytes: 3,
  });
  await printed(given, process, 'é');
  await write(given, process, { data: 'dHdvCg==', encoding: 'base64' });
  await write(given, process, { data: 'three\n', eof: true });
  expect(await ended(given, process)).toMatchObject({ status: 'completed', stdin: 'pipe' });
  expect(await stdout(given, process)).toBe('é\ntwo\nthree\nover\n');
});

test('Input can be sent to a queued process, and can consist of its end alone.', async () => {
  const given = onRuntime();
  const process = await run(given, 'cat', { stdin: 'pipe' });
  await write(given, process, { data: 'early', eof: true });
  await ended(given, process);
  expect(await stdout(given, process)).toBe('early');
  const silent = await run(given, 'cat', { stdin: 'pipe' });
  await write(given, silent, { eof: true });
  expect((await ended(given, silent)).status).toBe('completed');
});

test('Long input arrives completely, and no faster than the process reads it.', async () => {
  const given = onRuntime();
  const process = await run(given, 'read go; wc -c', { stdin: 'pipe' });
  const part = 'x'.repeat(100_000);
  let accepted = 0;
  const sending = (async () => {
    for (let i = 0; i < 20; i++) {
      await write(given, process, { data: part });
      accepted++;
    }
  })();
  const line = write(given, process, { data: '\n' });
  await Promise.all([sending, line]);
  await write(given, process, { eof: true });
  await ended(given, process);
  expect(accepted).toBe(20);
  expect(Number(await stdout(given, process))).toBeGreaterThan(0);
});

test('Input beyond 1 MiB that nobody reads is refused, and waiting requests fail when the process ends.', async () => {
  const given = onRuntime();
  const process = await run(given, 'sleep 1000', { stdin: 'pipe' });
  const sent = Array.from({ length: 20 }, () =>
    write(given, process, { data: 'x'.repeat(131_072) }).then(
      () => 'taken',
      (error: unknown) => (error as { code: string }).code,
    ),
  );
  await Promise.any(sent.map((one) => one.then(assertTooMany)));
  await kill(given, process);
  await ended(given, process);
  const outcomes = await Promise.all(sent);
  expect(outcomes).toContain('too_many');
  expect(outcomes).toContain('conflict');
});

test.each<[why: string, command: string, stdin: 'pipe' | 'none', first: object | null]>([
  ['that was created without', 'sleep 1000', 'none', null],
  ['whose input has ended', 'sleep 1000', 'pipe', { eof: true }],
  ['that has ended', 'true', 'pipe', null],
])('Input for a process %s is refused.', async (_why, command, stdin, first) => {
  const given = onRuntime();
  const process = await run(given, command, { stdin });
  if (first) await write(given, process, first);
  if (command === 'true') await ended(given, process);
  await expectError(write(given, process, { data: 'x' }), 'conflict');
  if (command !== 'true') await kill(given, process);
});

test('Input is refused if it is invalid base64, too long, or for an unknown process.', async () => {
  const given = onRuntime();
  const process = await run(given, 'cat', { stdin: 'pipe' });
  for (const body of [
    { data: 'no base64!', encoding: 'base64' as const },
    { data: 'x'.repeat(131_073) },
  ])
    await expectError(write(given, process, body), 'invalid');
  await write(given, process, { eof: true });
  expect((await ended(given, process)).stdout_bytes).toBe(0);
  await expectError(write(given, { process_id: 'proc_0' }, {}), 'not_found');
});

test('A process without input reads the end at once.', async () => {
  const given = onRuntime();
  const process = await run(given, 'cat; echo over');
  expect(await ended(given, process)).toMatchObject({ status: 'completed', stdin: 'none' });
  expect(await get(given, process)).toMatchObject({ stdout_bytes: 5 });
});

function assertTooMany(outcome: string): void {
  if (outcome !== 'too_many') throw new Error(outcome);
}
