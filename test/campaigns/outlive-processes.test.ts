import { setTimeout as pause } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { endpoints } from '../../src/api/index.ts';
import type { Process } from '../../src/api/processes.ts';
import { scaled } from '../support/patience.ts';
import { ended, endingsIn, eventsOf, get, logs, run } from '../support/processes/work.ts';
import { below, seededRandom } from '../support/random.ts';
import { startServer, type TestServer, untilNothingCarries } from '../support/server.ts';
import { tempDirectory } from '../support/temp.ts';

/** The number of kills: `KILLS=1000` for a longer campaign. */
const KILLS = Number(process.env.KILLS ?? 10);
const SEED = Number(process.env.SEED || 0) || Math.trunc(Date.now() % 1e9);
/** A server lives for so many milliseconds at the most after it has started. */
const LIFE_MS = 500;
const PAUSE_MS = 500;
/** The log of each output has the beginning and the end of longer outputs. */
const MAX_LOG_BYTES = 100_000;
/** The texts of events end after so many bytes of a process. */
const MAX_TEXT_BYTES = 256 * 1024;
const env = {
  CADRE_SERVER_REATTACH_MS: '60000',
  CADRE_PROCESSES_MAX_OUTPUT_BYTES_PER_PROCESS: String(MAX_LOG_BYTES),
};

const numbered = (word: string, lines: number, step = 1) =>
  Array.from({ length: Math.ceil(lines / step) }, (_, at) => `${word} ${at * step}\n`).join('');

/** Commands, with all that they print and their exit codes. */
const works = [
  {
    command:
      'i=0; while [ $i -lt 400 ]; do echo "out $i"; [ $((i % 5)) = 0 ] && echo "err $i" >&2; [ $((i % 8)) = 0 ] && sleep 0.05; i=$((i+1)); done; exit 3',
    stdout: numbered('out', 400),
    stderr: numbered('err', 400, 5),
    exit: 3,
  },
  {
    command:
      'n=0; while [ $n -lt 20 ]; do i=0; while [ $i -lt 1000 ]; do echo "flood $((n * 1000 + i))"; i=$((i+1)); done; n=$((n+1)); sleep 0.1; done',
    stdout: numbered('flood', 20_000),
    stderr: '',
    exit: 0,
  },
  {
    command: 'sleep 0.7; echo only; echo "one line" >&2; exit 5',
    stdout: 'only\n',
    stderr: 'one line\n',
    exit: 5,
  },
];

type Work = (typeof works)[number];

/** Compares what is stored of a process that has ended with what its command prints. */
async function verify(server: TestServer, process: Process, work: Work): Promise<void> {
  const process_id = process.process_id;
  expect(process).toMatchObject({ exit_code: work.exit, failure: null });
  const events = await eventsOf(server, { process_id });
  expect(endingsIn(events)).toHaveLength(1);
  const stored = await logs(server, process, { tail_lines: 10_000, max_bytes: 4 * 1024 * 1024 });
  for (const stream of ['stdout', 'stderr'] as const) {
    const whole = work[stream];
    const part = stored[stream];
    expect(part).toMatchObject({ total_bytes: whole.length, verified: true });
    expect(whole.endsWith(part?.content ?? 'missing')).toBe(true);
    if (whole.length > MAX_LOG_BYTES) {
      const begin = await logs(server, process, { stream, from_byte: 0, max_bytes: 40_000 });
      expect(begin[stream]?.content).toBe(whole.slice(0, 40_000));
    } else expect(part?.content).toBe(whole);
    let at = 0;
    for (const { kind, payload } of events) {
      if (kind !== 'process.output' || payload.stream !== stream) continue;
      const { offset, bytes, text } = payload as { offset: number; bytes: number; text: string };
      expect(offset).toBe(at);
      expect(whole.slice(offset, offset + bytes).startsWith(text)).toBe(true);
      if (whole.length < MAX_TEXT_BYTES && bytes <= 4096) expect(text).toHaveLength(bytes);
      at += bytes;
    }
    expect(at).toBe(Math.min(whole.length, Math.max(at, MAX_LOG_BYTES)));
  }
}

test(
  'Processes with outlive continue whenever the server is killed or replaced: no output, event or exit code is lost or doubled.',
  { timeout: scaled(120_000 + KILLS * 10_000) },
  async () => {
    await using directory = tempDirectory('outlive');
    const random = seededRandom(SEED);
    const running = new Map<string, Work>();
    let server: TestServer | undefined;
    let done = 0;
    let attached = 0;
    try {
      for (let kills = 0; kills <= KILLS; kills++) {
        server = await startServer(directory.path, { env });
        const recovery = await server.client.call(endpoints.getRecovery, {});
        attached += recovery.processes_attached?.length ?? 0;
        expect(recovery, `SEED=${SEED}, kill ${kills}\n${server.log()}`).toMatchObject({
          processes_failed: [],
          orphans_killed: [],
        });
        for (const [process_id, work] of running) {
          const process =
            kills === KILLS
              ? await ended(server, { process_id })
              : await get(server, { process_id });
          if (process.ended_at === null) continue;
          await verify(server, process, work).catch((error: unknown) => {
            throw new Error(`SEED=${SEED}, kill ${kills}, ${process_id}`, { cause: error });
          });
          running.delete(process_id);
          done++;
        }
        if (kills === KILLS) break;
        while (running.size < works.length) {
          const work = works[below(works.length, random)] as Work;
          const process = await run(server, work.command, { outlive: true, cwd: directory.path });
          // A process that is still queued ends with the server.
          await started(server, process);
          running.set(process.process_id, work);
        }
        await pause(below(LIFE_MS, random));
        await server.end(random() < 0.2 ? 'SIGUSR2' : 'SIGKILL');
        if (random() < 0.2) await pause(below(PAUSE_MS, random));
      }
      console.info(`SEED=${SEED}: ${KILLS} kills, ${done} processes, attached ${attached} times`);
    } finally {
      await server?.end('SIGKILL');
      // A server that stops ends all processes.
      await (await startServer(directory.path, { env })).end('SIGTERM');
      await untilNothingCarries(directory.path);
    }
  },
);

async function started(server: TestServer, { process_id }: Process): Promise<void> {
  while ((await get(server, { process_id })).status === 'queued') await pause(2);
}
