import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import http from 'node:http';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { build } from 'esbuild';
import type { Address } from './client/http.ts';
import type { RoundContext } from './workload.ts';

/** A server under measurement. */
export interface Server extends Address {
  /** 0 if the bench did not start it. */
  pid: number;
  /** Milliseconds from its start until `/health` answered. */
  startedIn: number;
  end(): Promise<void>;
}

/** A minimal server that runs a workload beside cadre. */
export type SecondBaseline = 'bare-server' | 'libraries';

/** Something of which servers are started and measured. */
export interface Subject {
  name: 'cadre' | 'before' | 'peer' | SecondBaseline;
  /** The words with which its commands begin; null for a server of another program. */
  program: readonly string[] | null;
  /** Whether the bench starts its servers: each with data of its own, and a process to look at. */
  isStarted: boolean;
  start(directory: string, options?: StartOptions): Promise<Server>;
}

export interface StartOptions {
  agent?: AgentKind;
  /** More variables of the server. */
  variables?: Record<string, string>;
}

/** The agent of `baselines/agent.ts`, or a program that never answers: then only the server works. */
type AgentKind = 'speaks' | 'silent';

/** The cadre of this directory, which `npm run build` makes. */
export const OWN = path.join(import.meta.dirname, '../bin/cadre.js');

const TOKEN = 'the-token-of-the-bench-0123456789';
const agents: Record<AgentKind, string> = {
  speaks: `'${process.execPath}' '${path.join(import.meta.dirname, 'baselines/agent.ts')}'`,
  silent: 'sleep infinity',
};
const BARE_SERVER = path.join(import.meta.dirname, 'baselines/bare-server.mjs');
const SQLITE = path.join(import.meta.dirname, '../node_modules/sql.js/dist/sql-wasm.wasm');
const START_LIMIT_MS = 30_000;

/** A build of cadre: its executable, or the JavaScript file that starts it. */
export function cadreAt(name: 'cadre' | 'before', file: string): Subject {
  const whole = fs.realpathSync(file);
  const program = /\.c?js$/.test(whole) ? [process.execPath, whole] : [whole];
  const home = keptHome();
  const start: Subject['start'] = (directory, options) =>
    startCommand([...program, 'serve'], directory, { home, ...options });
  return { name, program, isStarted: true, start };
}

/**
 * Any server of the interface. `command` is given to a shell, with the variables of `environmentOf`; or the server runs
 * at `url` already.
 */
export function peerFrom(env: NodeJS.ProcessEnv): Subject | null {
  const { PEER_CMD: command, PEER_URL: url, PEER_TOKEN: token = TOKEN } = env;
  if (command !== undefined) {
    const words = ['/bin/sh', '-c', `exec ${command}`];
    const home = keptHome();
    const start: Subject['start'] = (directory, options) =>
      startCommand(words, directory, { home, ...options });
    return { name: 'peer', program: null, isStarted: true, start };
  }
  if (url === undefined) return null;
  const server = { url, token, pid: 0, startedIn: Number.NaN, end: () => Promise.resolve() };
  return { name: 'peer', program: null, isStarted: false, start: () => Promise.resolve(server) };
}

/** Each has the part of the interface that its workloads need. */
export const secondBaselines: Record<SecondBaseline, Subject> = {
  'bare-server': baseline('bare-server', (directory, options) =>
    startCommand([process.execPath, BARE_SERVER], directory, options),
  ),
  libraries: baseline('libraries', startLibraries),
};

function baseline(name: SecondBaseline, start: Subject['start']): Subject {
  return { name, program: null, isStarted: true, start };
}

/** Starts the server of `baselines/libraries.ts`: one file, of which Node keeps the compiled code, as cadre is. */
async function startLibraries(directory: string): Promise<Server> {
  librariesHome ??= await bundledLibraries();
  const variables = { NODE_COMPILE_CACHE: librariesHome, WASM: SQLITE };
  const file = path.join(librariesHome, 'libraries.cjs');
  return startCommand([process.execPath, file, 'serve'], directory, { variables });
}

let librariesHome: string | undefined;

async function bundledLibraries(): Promise<string> {
  const home = keptHome();
  await build({
    entryPoints: [path.join(import.meta.dirname, 'baselines/libraries.ts')],
    outfile: path.join(home, 'libraries.cjs'),
    bundle: true,
    platform: 'node',
    format: 'cjs',
    minifyWhitespace: true,
    minifySyntax: true,
  });
  return home;
}

/** A home that servers share from start to start, so that code which the first has compiled is not compiled again. */
function keptHome(): string {
  const home = fs.mkdtempSync(path.join(os.tmpdir(), 'cadre-bench-home-'));
  process.once('exit', () => fs.rmSync(home, { recursive: true, force: true }));
  return home;
}

/** Runs `use` with a server of the subject, and ends the server whatever happens. */
export async function withServer<T>(
  { subject, directory }: RoundContext,
  use: (server: Server) => Promise<T>,
  options?: StartOptions,
): Promise<T> {
  return ending(await subject.start(directory, options), use);
}

/** The same with the minimal server of `baselines/bare-server.mjs`, which keeps its data in `directory`. */
export async function withBareServer<T>(
  directory: string,
  use: (server: Server) => Promise<T>,
): Promise<T> {
  return ending(await startCommand([process.execPath, BARE_SERVER], directory), use);
}

async function ending<T>(server: Server, use: (server: Server) => Promise<T>): Promise<T> {
  try {
    return await use(server);
  } finally {
    await server.end();
  }
}

const running = new Set<ChildProcess>();
process.once('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});

/** Where a server keeps its data: in `directory` itself the bench keeps what is its own. */
export function dataOf(directory: string): string {
  return path.join(directory, 'data');
}

/** Starts a command and resolves once `/health` of the server answers. */
export async function startCommand(
  [file = '', ...args]: readonly string[],
  directory: string,
  { home = directory, agent = 'speaks', variables }: StartOptions & { home?: string } = {},
): Promise<Server> {
  fs.mkdirSync(dataOf(directory), { recursive: true, mode: 0o700 });
  const port = await freePort();
  const env = { ...environmentOf(directory, home, agent, port), ...variables };
  const logFile = path.join(directory, 'bench-server.log');
  const log = fs.openSync(logFile, 'a');
  const started = performance.now();
  const child = spawn(file, args, { env, cwd: directory, stdio: ['ignore', log, log] });
  fs.closeSync(log);
  running.add(child);
  const ended = once(child, 'exit').finally(() => running.delete(child));
  const url = `http://127.0.0.1:${port}`;
  await untilHealthy(url, child, started).catch((error: unknown) => {
    child.kill('SIGKILL');
    throw new Error(`the server did not start: ${fs.readFileSync(logFile, 'utf8')}`, {
      cause: error,
    });
  });
  return {
    url,
    token: TOKEN,
    pid: child.pid ?? 0,
    startedIn: performance.now() - started,
    async end() {
      child.kill('SIGTERM');
      await ended;
    },
  };
}

/**
 * Environment of a server: address, data directory, token, and the executable of its ACP agent. cadre has names of its
 * own for these variables, so they are set twice.
 */
function environmentOf(
  directory: string,
  home: string,
  kind: AgentKind,
  port: number,
): NodeJS.ProcessEnv {
  const tokenFile = path.join(directory, 'bench-token');
  fs.writeFileSync(tokenFile, TOKEN, { mode: 0o600 });
  const agent = path.join(directory, 'bench-agent');
  fs.writeFileSync(agent, `#!/bin/sh\nexec ${agents[kind]}\n`, { mode: 0o755 });
  const { PATH = '', TMPDIR = os.tmpdir() } = process.env;
  return {
    PATH,
    TMPDIR,
    HOME: home,
    PORT: String(port),
    DIRECTORY: dataOf(directory),
    TOKEN,
    TOKEN_FILE: tokenFile,
    AGENT: agent,
    CADRE_SERVER_BIND_ADDRESS: `127.0.0.1:${port}`,
    CADRE_DATA_ROOT_DIR: dataOf(directory),
    CADRE_AUTH_TOKEN: TOKEN,
    CADRE_PROVIDERS_ACP_COMMAND: agent,
    CADRE_PROVIDERS_MAX_LIVE: '100',
    CADRE_LOG_LEVEL: 'warn',
  };
}

async function untilHealthy(url: string, child: ChildProcess, started: number): Promise<void> {
  while (!(await isHealthy(url))) {
    if (child.exitCode !== null || child.signalCode !== null)
      throw new Error('it ended before it was healthy');
    if (performance.now() - started > START_LIMIT_MS)
      throw new Error(`it was not healthy within ${START_LIMIT_MS} ms`);
    await pause(1);
  }
}

function isHealthy(url: string): Promise<boolean> {
  return new Promise((resolve) => {
    const request = http.get(`${url}/health`, { agent: false }, (response) => {
      response.resume().once('end', () => resolve(response.statusCode === 200));
    });
    request.once('error', () => resolve(false));
  });
}

async function freePort(): Promise<number> {
  const server = net.createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as net.AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}
