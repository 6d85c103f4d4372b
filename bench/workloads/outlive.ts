import { spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { DurableAgent } from '../baselines/durable-agent.ts';
import { ask, createSession, sendTurn } from '../client/http.ts';
import { ownMegabytes } from '../client/process.ts';
import { endsTurn, Stream } from '../client/stream.ts';
import { median } from '../report/statistics.ts';
import { type Server, withServer } from '../subject.ts';
import { type Measures, type RoundContext, workload } from '../workload.ts';

/** The values of `server.reattach_ms`, in milliseconds. */
const TIMES = [0, 60_000];
/** A process is idle when this time has passed. */
const REST_MS = 1000;
const MEMORY = 'process that holds the pipes';

const nameOf = (reattachMs: number) => `turn of one word, reattach_ms ${reattachMs}`;

/** The cost of turns that can outlive the server. */
export const outlive = workload({
  about: `the time of a turn with one word, without and with \`server.reattach_ms\`, and the resident memory of the process that then holds the pipes of agents. The baseline runs the same agent on pipes and writes the prompt and the word to a file on disk; for memory it is a Node process that does nothing`,
  needs: 'process',
  units: { ...Object.fromEntries(TIMES.map((ms) => [nameOf(ms), 'ms'])), [MEMORY]: 'MB' },
  sizes: { short: { turns: 50 }, full: { turns: 200 } },
  async server(context, { turns }) {
    const measures: Measures = {};
    for (const reattachMs of TIMES) {
      const own = { ...context, directory: path.join(context.directory, String(reattachMs)) };
      await withServer(
        own,
        async (server) => {
          measures[nameOf(reattachMs)] = await turnTime(server, own, turns);
          if (reattachMs > 0) measures[MEMORY] = await shimMegabytes(server);
        },
        { variables: { CADRE_SERVER_REATTACH_MS: String(reattachMs) } },
      );
    }
    return measures;
  },
  async bare(directory, { turns }) {
    const agent = await DurableAgent.start(directory);
    await agent.createSession();
    const measures: Measures = {};
    for (const reattachMs of TIMES)
      measures[nameOf(reattachMs)] = await timesOf(turns, () =>
        agent.prompt('words 1', () => undefined),
      );
    await agent.end();
    return { ...measures, [MEMORY]: await idleNodeMegabytes() };
  },
});

async function turnTime(
  server: Server,
  { directory }: RoundContext,
  turns: number,
): Promise<number> {
  const session = await createSession(server, directory);
  const stream = await Stream.open(server, `/v1/sessions/${session}/events/stream?after_seq=0`);
  const time = await timesOf(turns, async () => {
    const over = stream.next(endsTurn);
    await sendTurn(server, session, 'words 1');
    await over;
  });
  stream.close();
  return time;
}

/** Returns the median time, without the first runs. */
async function timesOf(count: number, run: () => Promise<unknown>): Promise<number> {
  const times: number[] = [];
  for (let done = -count / 2; done < count; done++) {
    const began = performance.now();
    await run();
    if (done >= 0) times.push(performance.now() - began);
  }
  return median(times);
}

/** NaN for a build without such a process. */
async function shimMegabytes(server: Server): Promise<number> {
  const { children } = await ask<{ children: { shim_pid?: number | null } }>(
    server,
    'GET',
    '/v1/diagnostics',
  );
  if (!children.shim_pid) return Number.NaN;
  await pause(REST_MS);
  return ownMegabytes(children.shim_pid);
}

async function idleNodeMegabytes(): Promise<number> {
  const node = spawn(process.execPath, ['-e', 'setInterval(() => {}, 60_000)']);
  await once(node, 'spawn');
  await pause(REST_MS);
  const megabytes = ownMegabytes(node.pid ?? 0);
  node.kill('SIGKILL');
  return megabytes;
}
