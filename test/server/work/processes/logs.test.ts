import fs from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { expectError } from '../../../support/an-error.ts';
import { endpoints } from '../../../../src/api/index.ts';
import { pagedLogs } from '../../../../src/client/log-stream.ts';
import { systemClock } from '../../../../src/core/lib/clock.ts';
import { expectEventually } from '../../../support/expect-eventually.ts';
import { sharedRuntime, testRuntime } from '../../../support/runtime.ts';
import { ended, Gate, get, logs, printed, ranTo, run } from '../../../support/processes/work.ts';

const on = sharedRuntime();

test('The logs have the requested stream; the other one is null.', async () => {
  const given = on();
  const over = await ranTo(given, 'echo out; echo error >&2');
  expect(await logs(given, over, { stream: 'stdout' })).toMatchObject({
    stdout: { content: 'out\n' },
    stderr: null,
  });
  expect(await logs(given, over, { stream: 'stderr' })).toMatchObject({
    stdout: null,
    stderr: { content: 'error\n' },
  });
});

test('The logs have 200 lines and 64 KiB by default, and fewer on request.', async () => {
  const given = on();
  const lines = await ranTo(given, 'seq 1 1000');
  const tail = (await logs(given, lines)).stdout;
  expect(tail?.content.split('\n')).toHaveLength(201);
  expect(tail?.content.startsWith('801\n')).toBe(true);
  expect((await logs(given, lines, { tail_lines: 2, max_bytes: 5 })).stdout).toEqual({
    content: '1000\n',
    bytes: 5,
    total_bytes: 3893,
    truncated: true,
    offset: 3888,
    verified: true,
  });
  const long = await ranTo(given, `head -c 100000 /dev/zero | tr '\\0' x`);
  expect((await logs(given, long)).stdout).toMatchObject({
    bytes: 65_536,
    total_bytes: 100_000,
    truncated: true,
  });
});

test('The logs of a running process are available, and its record has their size.', async () => {
  const given = on();
  using gate = new Gate(given.directory);
  const started = await run(given, `printf 'half \\360\\237'; ${gate.wait}; printf '\\231\\202'`);
  await printed(given, started, 'half');
  await expectEventually(() => get(given, started)).toMatchObject({
    status: 'running',
    stdout_bytes: 7,
  });
  expect((await logs(given, started)).stdout).toEqual({
    content: 'half ',
    bytes: 5,
    total_bytes: 7,
    truncated: true,
    offset: 0,
    verified: false,
  });
  gate.open();
  await ended(given, started);
  expect((await logs(given, started)).stdout?.content).toBe('half 🙂');
});

test('Output above the cap is stored as its beginning and end, is marked as truncated, and takes no more space.', async () => {
  const given = await testRuntime({
    config: { processes: { max_output_bytes_per_process: 10_001 } },
  });
  const script = path.join(given.directory, 'print');
  const lines = Array.from({ length: 20_000 }, (_, i) => `${i} 漢字🙂\n`);
  fs.writeFileSync(script, lines.join(''));
  const over = await ranTo(given, `cat '${script}'; echo the end >&2`);
  const total = fs.statSync(script).size;
  expect(over).toMatchObject({
    stdout_bytes: total,
    stdout_truncated: true,
    stderr_bytes: 8,
    stderr_truncated: false,
  });
  const file = path.join(given.directory, 'logs', `${over.process_id}.stdout`);
  expect(fs.statSync(file).size).toBe(10_001);
  expect(fs.readFileSync(file).subarray(0, 5000)).toEqual(
    fs.readFileSync(script).subarray(0, 5000),
  );
  for (const max_bytes of [100, 101, 102, 103, 4000, 5001, 5002, 20_000, 4_194_304]) {
    const tail = (await logs(given, over, { max_bytes, tail_lines: 10_000 })).stdout;
    expect(tail).toMatchObject({ total_bytes: total, truncated: true });
    expect(lines.join('').endsWith(tail?.content ?? '!')).toBe(true);
    expect(tail?.bytes).toBeGreaterThan(Math.min(max_bytes, 5001) - 4);
  }
});

test('Output of exactly the cap is complete.', async () => {
  const given = await testRuntime({
    config: { processes: { max_output_bytes_per_process: 5000 } },
  });
  const over = await ranTo(given, `head -c 5000 /dev/zero | tr '\\0' x`);
  expect(over).toMatchObject({ stdout_bytes: 5000, stdout_truncated: false });
  expect((await logs(given, over)).stdout).toMatchObject({ bytes: 5000, truncated: false });
});

test('Only the user of the server can read the log files.', async () => {
  const given = await testRuntime();
  await ranTo(given, 'echo secret');
  const directory = path.join(given.directory, 'logs');
  expect(fs.statSync(directory).mode & 0o777).toBe(0o700);
  for (const name of fs.readdirSync(directory))
    expect(fs.statSync(path.join(directory, name)).mode & 0o777).toBe(0o600);
});

test('The logs of a process can be read from a byte on, page by page, in whole characters, to their end.', async () => {
  const given = on();
  const { client } = given;
  const whole = 'a€🙂\n'.repeat(40);
  using gate = new Gate(given.directory);
  const { process_id: processId } = await run(
    given,
    `printf '${'a€🙂\\n'.repeat(40)}'; ${gate.wait}; printf end; printf err >&2`,
  );
  const over = new AbortController();
  const options = {
    client,
    clock: systemClock,
    processId,
    from: 4,
    signal: over.signal,
  } as const;
  let out = '';
  for await (const { text } of pagedLogs({ ...options, stream: 'stdout' })) {
    out += text;
    if (out.length === whole.length - 2) gate.open();
  }
  expect(out).toBe(`${whole.slice(2)}end`);
  let err = '';
  for await (const { offset, text, next } of pagedLogs({ ...options, stream: 'stderr', from: 1 }))
    err += `${offset} ${text} ${next}`;
  expect(err).toBe('1 rr 3');
  const page = { stream: 'stdout', from_byte: 1, max_bytes: 5 } as const;
  const { stdout } = await client.call(endpoints.getProcessLogs, {
    params: { process_id: processId },
    query: page,
  });
  expect(stdout).toMatchObject({ content: '€', offset: 1, bytes: 3, truncated: true });
  await expectError(
    client.call(endpoints.getProcessLogs, {
      params: { process_id: processId },
      query: { from_byte: 0 },
    }),
    'invalid',
    'set stream to stdout or stderr',
  );
});
