import { spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { createSession } from '../client/http.ts';
import { median } from '../report/statistics.ts';
import { withServer } from '../subject.ts';
import { workload } from '../workload.ts';

const HELLO = [process.execPath, path.join(import.meta.dirname, '../baselines/hello.cjs')];
const INITIALIZE = {
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: {
    protocolVersion: '2025-06-18',
    capabilities: {},
    clientInfo: { name: 'bench', version: '1' },
  },
};

/** Commands that a person waits for at the terminal, and an agent for its tools. */
export const clientCommands = workload({
  about:
    'the time from the start to the exit of client commands, and until `mcp serve` responds to the request `initialize`. The baseline is a program that prints one line with the same Node version',
  needs: 'program',
  units: { '--version': 'ms', 'sessions list': 'ms', 'mcp serve, ready': 'ms' },
  sizes: { short: { starts: 5 }, full: { starts: 20 } },
  server: (context, { starts }) =>
    withServer(context, async (server) => {
      const session = await createSession(server, context.directory);
      const env = {
        HOME: context.directory,
        CADRE_URL: server.url,
        CADRE_TOKEN: server.token,
        CADRE_GATEWAY_URL: server.url,
        CADRE_GATEWAY_TOKEN: server.token,
        CADRE_SESSION_ID: session,
      };
      const words = context.subject.program ?? [];
      const input = `${JSON.stringify(INITIALIZE)}\n`;
      const run = (...args: string[]) => untilEnd([...words, ...args], env);
      return {
        '--version': await timed(starts, () => run('--version')),
        'sessions list': await timed(starts, () => run('sessions', 'list')),
        'mcp serve, ready': await timed(starts, () =>
          untilLine([...words, 'mcp', 'serve'], env, input),
        ),
      };
    }),
  async bare(_directory, { starts }) {
    const ended = await timed(starts, () => untilEnd(HELLO, {}));
    const ready = await timed(starts, () => untilLine(HELLO, {}, ''));
    return { '--version': ended, 'sessions list': ended, 'mcp serve, ready': ready };
  },
});

/** The median time of some runs. The one before them brings the files into memory. */
async function timed(starts: number, run: () => Promise<number>): Promise<number> {
  await run();
  const times: number[] = [];
  for (let n = 0; n < starts; n++) {
    const started = performance.now();
    times.push((await run()) - started);
  }
  return median(times);
}

/** Runs a command; resolves with the moment of its end. */
async function untilEnd(words: readonly string[], env: NodeJS.ProcessEnv): Promise<number> {
  const child = start(words, env);
  child.stdout.resume();
  const [code] = (await once(child, 'close')) as [number];
  if (code !== 0) throw new Error(`${words.join(' ')} ended with ${code}`);
  return performance.now();
}

/** Runs a command until it has written a line; resolves with the moment of the line. */
async function untilLine(
  words: readonly string[],
  env: NodeJS.ProcessEnv,
  input: string,
): Promise<number> {
  const child = start(words, env);
  child.stdin.write(input);
  const [line] = (await once(child.stdout, 'data')) as [Buffer];
  const moment = performance.now();
  if (!line.includes('\n')) throw new Error(`${words.join(' ')} wrote half a line`);
  child.kill();
  await once(child, 'close');
  return moment;
}

function start([file = '', ...args]: readonly string[], env: NodeJS.ProcessEnv) {
  const { PATH = '' } = process.env;
  return spawn(file, args, { env: { PATH, ...env }, stdio: ['pipe', 'pipe', 'inherit'] });
}
