import fs from 'node:fs';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { endpoints } from '../../src/api/index.ts';
import type { Process } from '../../src/api/processes.ts';
import { streamEvents } from '../../src/client/stream.ts';
import { AppError } from '../../src/api/errors.ts';
import { systemClock } from '../../src/core/lib/clock.ts';
import { type TestServer, testServer } from '../support/server.ts';
import { endingsIn, logs, run } from '../support/processes/work.ts';
import { scaled } from '../support/patience.ts';

const commands = Number(process.env.COMMANDS || 100);
const megabytes = Number(process.env.PRINT_MB || 100);

const CLIENTS = 100;
const MB = 1_000_000;
const CAP = 20 * MB;
const WARM_MB = 100;
const LINE = '漢字🙂é of the output\n';

it(
  'Many short commands of clients that wait for them have one exit code, one output and one end each.',
  { timeout: scaled(60_000 + commands * 200) },
  async () => {
    const server = await testServer({
      env: { CADRE_PROCESSES_MAX_CONCURRENT: '8', CADRE_PROCESSES_MAX_QUEUED: '16' },
    });
    const endings = countEndings(server);
    const over = new Map<string, { n: number; process: Process }>();
    let next = 0;
    let refused = 0;
    // The first commands fill every place until one was refused: a fast server would refuse none.
    const gate = path.join(server.directory, 'gate');
    const untilRefused = `while [ ! -e '${gate}' ]; do sleep 0.01; done`;
    const refusal = () => {
      if (refused++ === 0) fs.writeFileSync(gate, '');
    };
    const started = performance.now();
    const work = async () => {
      for (let n = next++; n < commands; n = next++) {
        const taken = await patiently(
          () => run(server, `${untilRefused}; echo ${n}; echo ${n}! >&2; exit ${n % 200}`),
          refusal,
        );
        const params = { process_id: taken.process_id };
        const { process } = await server.client.call(endpoints.waitForProcess, { params });
        over.set(taken.process_id, { n, process });
      }
    };
    await Promise.all(Array.from({ length: CLIENTS }, work));
    const seconds = (performance.now() - started) / 1000;
    process.stdout.write(
      `short commands: ${commands} in ${seconds.toFixed(1)} s, ${refused} times told to wait\n`,
    );
    expect(over.size).toBe(commands);
    const dropped = server
      .log()
      .split('\n')
      .filter((line) => line.includes('cannot store output'));
    expect(dropped).toEqual([]);
    expect(refused).toBeGreaterThan(0);
    for (const [process_id, { n, process: record }] of over) {
      const status = n % 200 === 0 ? 'completed' : 'failed';
      expect(record).toMatchObject({
        status,
        exit_code: n % 200,
        signal: null,
        stdout_bytes: `${n}\n`.length,
        stderr_bytes: `${n}!\n`.length,
      });
      expect(await logs(server, { process_id })).toMatchObject({
        stdout: { content: `${n}\n` },
        stderr: { content: `${n}!\n` },
      });
    }
    const counted = await endings.until(commands);
    expect([...counted.keys()].toSorted()).toEqual([...over.keys()].toSorted());
    for (const kinds of counted.values()) expect(kinds).toHaveLength(1);
  },
);

it(
  'A command with endless output costs the server no memory, and its capped log keeps the beginning and the end.',
  { timeout: scaled(120_000 + megabytes * 200) },
  async () => {
    const server = await testServer({ env: { NODE_OPTIONS: '--max-semi-space-size=1' } });
    // The memory that printing and reading need anyway does not count as growth.
    const before = await print(server, WARM_MB);
    const { printing, total, rss, reads, seconds } = await print(server, megabytes);
    const growth = (rss - before.rss) / MB;
    const median = reads.toSorted((a, b) => a - b)[Math.floor(reads.length / 2)] ?? 0;
    process.stdout.write(
      `much output: ${megabytes} MB in ${seconds.toFixed(1)} s, ${growth.toFixed(1)} MB more memory at most, ` +
        `${reads.length} reads of a tail, half of them within ${median.toFixed(1)} ms\n`,
    );
    expect(printing).toMatchObject({
      status: 'completed',
      stdout_bytes: total,
      stdout_truncated: true,
    });
    expect(growth).toBeLessThan(64);
    expect(median).toBeLessThan(scaled(50));
    const file = path.join(server.directory, 'logs', `${printing.process_id}.stdout`);
    expect(fs.statSync(file).size).toBe(CAP);
    expect((await logs(server, printing, { tail_lines: 3 })).stdout).toMatchObject({
      content: `${LINE}${LINE}the end\n`,
      total_bytes: total,
      truncated: true,
    });
    await expectWholeText(server, printing);
    // V8's young generation is filled once and does not count as growth.
  },
);

/** Has a command print so much, and reads its log all the while. */
async function print(server: TestServer, size: number) {
  const lines = Math.ceil((size * MB) / Buffer.byteLength(LINE));
  const command = `yes '${LINE.trim()}' | head -n ${lines}; echo the end`;
  const started = performance.now();
  let printing = await run(server, command, { timeout_ms: 0 });
  const params = { process_id: printing.process_id };
  const reads: number[] = [];
  let rss = 0;
  for (let i = 0; printing.ended_at === null; i++) {
    const max_bytes = i % 50 === 0 ? 4 * 1024 * 1024 : [1, 100, 101, 102, 103, 65_536][i % 6];
    const asked = performance.now();
    const { stdout } = await logs(server, printing, { max_bytes, tail_lines: 10_000 });
    if (i % 50 > 0) reads.push(performance.now() - asked);
    if (stdout?.content.includes('\uFFFD')) throw new Error('a broken character');
    const { memory } = await server.client.call(endpoints.getDiagnostics, {});
    rss = Math.max(rss, memory.rss_bytes);
    printing = await server.client.call(endpoints.getProcess, { params });
  }
  const seconds = (performance.now() - started) / 1000;
  return { printing, total: lines * Buffer.byteLength(LINE) + 8, rss, reads, seconds };
}

/** Asks until there is a place, as a client does that honours 429. */
async function patiently<T>(ask: () => Promise<T>, onRefusal: () => void): Promise<T> {
  for (;;) {
    try {
      return await ask();
    } catch (error) {
      if (!(error instanceof AppError) || error.code !== 'too_many') throw error;
      onRefusal();
      await pause(20);
    }
  }
}

/** Follows the log, and reports the events that ended each process. */
function countEndings({ client }: TestServer) {
  const counted = new Map<string, string[]>();
  const stop = new AbortController();
  const news = new Set<() => void>();
  const reading = (async () => {
    for await (const event of streamEvents({ client, clock: systemClock, signal: stop.signal })) {
      if (endingsIn([event]).length === 0) continue;
      const id = event.process_id ?? '';
      counted.set(id, [...(counted.get(id) ?? []), event.kind]);
      for (const look of news) look();
    }
  })();
  // A failure before somebody waits for it is the test's own.
  reading.catch(() => undefined);
  return {
    /** Resolves once so many processes have ended. */
    async until(count: number) {
      await new Promise<void>((resolve) => {
        const look = () => void (counted.size >= count && resolve());
        news.add(look);
        look();
      });
      stop.abort();
      await reading;
      return counted;
    },
  };
}

/** Reads all that is kept, as a follower does: whole lines, but where the middle was dropped. */
async function expectWholeText({ client }: TestServer, { process_id }: Process): Promise<void> {
  const params = { process_id };
  const response = await client.open(endpoints.streamProcessLogs, { params });
  let text = '';
  let rest = '';
  for await (const part of response.setEncoding('utf8') as AsyncIterable<string>) {
    const frames = (rest + part).split('\n\n');
    rest = frames.pop() ?? '';
    for (const frame of frames) {
      const data = /(?:^|\n)id: \d+\nevent: log\ndata: (.*)$/.exec(frame)?.[1];
      if (data) text += (JSON.parse(data) as { text: string }).text;
    }
  }
  expect(text.includes('\uFFFD')).toBe(false);
  expect(text.endsWith('the end\n')).toBe(true);
  const odd = text.split('\n').filter((one) => one !== LINE.trim());
  expect(odd.length).toBeLessThanOrEqual(3);
  expect(Buffer.byteLength(text)).toBeGreaterThan(CAP - 16);
}
