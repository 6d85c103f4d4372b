import fs from 'node:fs';
import path from 'node:path';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { endpoints } from '../../../../src/api/index.ts';
import { pagedLogs } from '../../../../src/client/log-stream.ts';
import { systemClock } from '../../../../src/core/lib/clock.ts';
import { atLength } from '../../../support/at-length.ts';
import { expectEventually } from '../../../support/expect-eventually.ts';
import { sharedRuntime, withRuntime } from '../../../support/runtime.ts';
import { ended, Gate, get, logs, printed, ranTo, run } from '../../../support/processes/work.ts';
import { scaled } from '../../../support/patience.ts';

const on = sharedRuntime();

const unit = fc.constantFrom('a', 'b c', 'é', '漢', '🙂', '\n', '\n', '\r\n', 'x'.repeat(50));
const text = fc.string({ unit, maxLength: 60 });

/** The end of a text: its last lines, and of them the last whole characters within so many bytes. */
function tailOf(whole: string, lines: number, bytes: number): string {
  let tail =
    lines === 0
      ? ''
      : whole
          .split(/(?<=\n)/)
          .slice(-lines)
          .join('');
  while (Buffer.byteLength(tail) > bytes) tail = tail.replace(/^./su, '');
  return tail;
}

describe('the logs of a process', () => {
  test(
    'are the end of each stream within both bounds, in whole characters, whatever was printed.',
    { timeout: scaled(60_000) },
    () =>
      on(async (given) => {
        const [out, err] = ['out', 'err'].map((name) => path.join(given.directory, name));
        const bound = fc.tuple(
          fc.oneof(fc.nat(12), fc.constant(10_000)),
          fc.oneof(fc.integer({ min: 1, max: 80 }), fc.integer({ min: 1, max: 4_194_304 })),
        );
        const bounds = fc.array(bound, { minLength: 8, maxLength: 8 });
        await fc.assert(
          fc.asyncProperty(text, text, bounds, async (first, second, pairs) => {
            fs.writeFileSync(out ?? '', first);
            fs.writeFileSync(err ?? '', second);
            const over = await ranTo(given, `cat '${out}'; cat '${err}' >&2`);
            const part = (whole: string, lines: number, max: number) => {
              const content = tailOf(whole, lines, max);
              return {
                content,
                bytes: Buffer.byteLength(content),
                total_bytes: Buffer.byteLength(whole),
                truncated: content !== whole,
                offset: Buffer.byteLength(whole) - Buffer.byteLength(content),
                verified: true,
              };
            };
            for (const [tail_lines, max_bytes] of pairs)
              expect(await logs(given, over, { tail_lines, max_bytes })).toEqual({
                process_id: over.process_id,
                stdout: part(first, tail_lines, max_bytes),
                stderr: part(second, tail_lines, max_bytes),
              });
          }),
          { numRuns: atLength(10, 25, 25) },
        );
      }),
  );

  test('are of the stream that was asked for; the other is null.', () =>
    on(async (given) => {
      const over = await ranTo(given, 'echo out; echo error >&2');
      expect(await logs(given, over, { stream: 'stdout' })).toMatchObject({
        stdout: { content: 'out\n' },
        stderr: null,
      });
      expect(await logs(given, over, { stream: 'stderr' })).toMatchObject({
        stdout: null,
        stderr: { content: 'error\n' },
      });
    }));

  test('are 200 lines and 64 KiB where nothing else is asked for.', () =>
    on(async (given) => {
      const lines = await ranTo(given, 'seq 1 1000');
      const tail = (await logs(given, lines)).stdout;
      expect(tail?.content.split('\n')).toHaveLength(201);
      expect(tail?.content.startsWith('801\n')).toBe(true);
      const long = await ranTo(given, `head -c 100000 /dev/zero | tr '\\0' x`);
      expect((await logs(given, long)).stdout).toMatchObject({
        bytes: 65_536,
        total_bytes: 100_000,
        truncated: true,
      });
    }));

  test('are to be had while it runs, with what it has printed so far in its record too.', () =>
    on(async (given) => {
      using gate = new Gate(given.directory);
      const started = await run(
        given,
        `printf 'half \\360\\237'; ${gate.wait}; printf '\\231\\202'`,
      );
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
    }));

  test('of more than the cap are its beginning and its end, flagged, and no byte more on the disk.', () =>
    withRuntime(
      async (given) => {
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
      },
      { config: { processes: { max_output_bytes_per_process: 10_001 } } },
    ));

  test('of exactly the cap are whole.', () =>
    withRuntime(
      async (given) => {
        const over = await ranTo(given, `head -c 5000 /dev/zero | tr '\\0' x`);
        expect(over).toMatchObject({ stdout_bytes: 5000, stdout_truncated: false });
        expect((await logs(given, over)).stdout).toMatchObject({ bytes: 5000, truncated: false });
      },
      { config: { processes: { max_output_bytes_per_process: 5000 } } },
    ));

  test('are for the user of the server alone.', () =>
    withRuntime(async (given) => {
      await ranTo(given, 'echo secret');
      const directory = path.join(given.directory, 'logs');
      expect(fs.statSync(directory).mode & 0o777).toBe(0o700);
      for (const name of fs.readdirSync(directory))
        expect(fs.statSync(path.join(directory, name)).mode & 0o777).toBe(0o600);
    }));
});

test('the logs of a process can be read on from a byte, page by page, in whole characters, until they end.', () =>
  on(async (given) => {
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
    await expect(
      client.call(endpoints.getProcessLogs, {
        params: { process_id: processId },
        query: { from_byte: 0 },
      }),
    ).rejects.toMatchObject({
      code: 'invalid',
      message: expect.stringContaining('set stream to stdout or stderr'),
    });
  }));
