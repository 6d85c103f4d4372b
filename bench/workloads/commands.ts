import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { ask } from '../client/http.ts';
import { cpuMilliseconds, ownCpu } from '../client/process.ts';
import { type Frame, followNewest } from '../client/stream.ts';
import { together } from '../client/together.ts';
import { type Server, withServer } from '../subject.ts';
import { type Measures, workload } from '../workload.ts';

const CLIENTS = 16;
const FIRST = 50;

/** Short commands, from the request to their end: each is stored and supervised, and its output is kept. */
export const commands = workload({
  about: `the time in which one client and ${CLIENTS} clients run the command \`echo\` as a process of the server, until the event stream reports its end. The baseline starts /bin/sh and reads its output`,
  needs: 'server',
  units: {
    'one, to its end': 'ms',
    [`${CLIENTS} clients`]: '/s',
    [`${CLIENTS} clients, p99`]: 'ms',
    'CPU of a command': 'ms',
  },
  sizes: { short: { alone: 50, many: 400 }, full: { alone: 200, many: 2000 } },
  server: (stage, size) =>
    withServer(stage, async (server) => {
      const ends = new Ends();
      const stream = await followNewest(server, (frame) => ends.take(frame));
      const run = (command: string) => runOne(server, ends, command);
      const measures = await measure(run, size, () => cpuMilliseconds(server.pid));
      stream.close();
      return measures;
    }),
  bare: (_directory, size) => measure(spawnOne, size, ownCpu),
});

async function measure(
  run: (command: string) => Promise<void>,
  { alone, many }: { alone: number; many: number },
  cpu: () => number,
): Promise<Measures> {
  const echo = (_client: number, n: number) => run(`echo ${n}`);
  await together(1, FIRST, echo);
  const one = await together(1, alone, echo);
  const before = cpu();
  const all = await together(CLIENTS, many, echo);
  return {
    'one, to its end': one.p50,
    [`${CLIENTS} clients`]: all.perSecond,
    [`${CLIENTS} clients, p99`]: all.p99,
    'CPU of a command': (cpu() - before) / many,
  };
}

async function runOne(server: Server, ends: Ends, command: string): Promise<void> {
  const { process: made } = await ask<{ process: { process_id: string } }>(
    server,
    'POST',
    '/v1/processes',
    { command },
  );
  const kind = await ends.of(made.process_id);
  if (kind !== 'process.completed') throw new Error(`${command}: ${kind}`);
}

async function spawnOne(command: string): Promise<void> {
  const child = spawn('/bin/sh', ['-c', command], { stdio: ['ignore', 'pipe', 'pipe'] });
  const [[code]] = await Promise.all([once(child, 'exit'), text(child.stdout), text(child.stderr)]);
  if (code !== 0) throw new Error(`${command} ended with ${code}`);
}

/** The ends of processes, which may be on the stream before the answer to the request has come. */
class Ends {
  readonly #early = new Map<string, string>();
  readonly #waiting = new Map<string, (kind: string) => void>();

  take({ kind, data }: Frame): void {
    if (!/^process\.(completed|failed|killed|timed_out)$/.test(kind)) return;
    const { process_id: id } = JSON.parse(data) as { process_id: string };
    const resolve = this.#waiting.get(id);
    if (resolve) resolve(kind);
    else this.#early.set(id, kind);
    this.#waiting.delete(id);
  }

  async of(id: string): Promise<string> {
    const early = this.#early.get(id);
    this.#early.delete(id);
    return early ?? new Promise((resolve) => this.#waiting.set(id, resolve));
  }
}
