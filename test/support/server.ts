import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, lchownSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { type Client, HttpClient } from '../../src/client/client.ts';
import { readToken } from '../../src/core/config/token.ts';
import { isTestOfPosix } from '../../src/core/lib/platform.ts';
import { selfCommand } from '../../src/core/lib/self.ts';
import { asDataDirectory, tempDirectory } from './temp.ts';
import { scaled } from './patience.ts';
import { openForTest } from './shared.ts';

/** A real server in a separate process. */
export interface TestServer {
  url: string;
  token: string;
  pid: number;
  directory: string;
  client: Client;
  /** Returns its log so far. */
  log(): string;
  /** Sends a signal; resolves with the exit of the server. */
  end(signal: NodeJS.Signals): Promise<{ code: number | null; signal: NodeJS.Signals | null }>;
  exited: Promise<{ code: number | null; signal: NodeJS.Signals | null }>;
}

export interface ServerOptions {
  /** More flags of `cadre serve`. */
  args?: string[];
  /** The configuration as TOML, instead of the demo agent. */
  config?: string;
  env?: Record<string, string>;
  /** Working directory of the server (default: the one of this process). */
  cwd?: string;
  /** A command that starts the server. */
  wrap?: readonly string[];
  /** The user who runs the server, and who becomes the owner of the directory. */
  user?: { uid: number; gid: number } | undefined;
  /** Called with the process, before the server is ready. */
  onSpawn?: (child: ChildProcess) => void;
}

/** A start then needs no garbage collection, which saves a tenth of its CPU time. NODE_OPTIONS refuses this option. */
const ROOMY = ['--min-semi-space-size=16'];

/** Starts `cadre serve` on a directory and a free port; resolves when it is ready. Rejects with its log. */
export async function startServer(
  directory: string,
  { args = [], config, env = {}, cwd, wrap = [], user, onSpawn }: ServerOptions = {},
): Promise<TestServer> {
  asDataDirectory(directory);
  const { file, args: self } = selfCommand();
  const agent = config === undefined ? ['--demo'] : ['--config', writeConfig(directory, config)];
  const flags = ['--json', '--data-dir', directory, 'serve', '--port', '0', ...agent, ...args];
  if (user) giveTo(user, directory);
  const [program = file, ...words] = [...wrap, file, ...ROOMY, ...self, ...flags];
  const child = spawn(program, words, {
    ...user,
    stdio: ['ignore', 'pipe', 'pipe'],
    cwd,
    env: {
      PATH: process.env.PATH ?? '',
      TMPDIR: process.env.TMPDIR ?? '/tmp',
      HOME: directory,
      CADRE_DEMO_STATE: path.join(directory, 'demo-agent'),
      ...samePlatform(),
      ...sandboxOfRun(directory),
      // The recorder of responses writes to files of another user.
      ...(user ? {} : { ...recordedServer(), ...sharedCode() }),
      ...env,
    },
  });
  onSpawn?.(child);
  let log = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (log += text));
  const exited = once(child, 'exit').then(([code, signal]) => ({
    code,
    signal,
  })) as TestServer['exited'];
  const ready = await Promise.race([
    firstLine(child),
    exited.then((how) =>
      Promise.reject(new Error(`the server ended: ${JSON.stringify(how)}\n${log}`)),
    ),
  ]);
  const { url, token_file: tokenFile } = JSON.parse(ready) as { url: string; token_file: string };
  const token = user ? readFileSync(tokenFile, 'utf8').trim() : readToken(tokenFile);
  const client = new HttpClient({ url, token });
  return {
    url,
    token,
    pid: child.pid ?? 0,
    directory,
    client,
    log: () => log,
    exited,
    end(signal) {
      child.kill(signal);
      return exited.finally(() => client.close());
    },
  };
}

/** The command of `[providers.acp]`. */
export interface AgentCommand {
  command: string;
  args: readonly string[];
}

/** Like `startServer`, with an agent of the test instead of the demo agent. */
export function startServerWithAgent(
  directory: string,
  agent: AgentCommand,
  env: Record<string, string> = {},
): Promise<TestServer> {
  // JSON strings and arrays of strings are valid TOML.
  const values = Object.entries(agent).map(([key, value]) => `${key} = ${JSON.stringify(value)}\n`);
  const state = JSON.stringify(path.join(directory, 'demo-agent'));
  const config = `[providers.acp]\n${values.join('')}env = { CADRE_DEMO_STATE = ${state} }\n`;
  return startServer(directory, { config, env });
}

/** The variable that lets a program look at the machine as these tests do; see src/core/lib/platform.ts. */
export function samePlatform(): Record<string, string> {
  return isTestOfPosix ? { CADRE_TEST_ONLY_PLATFORM: 'posix' } : {};
}

/** Environment that makes a server run agents and processes in a sandbox, if the run tests that (`make test-agents-sandbox`). */
function sandboxOfRun(directory: string): Record<string, string> {
  const { AGENTS_SANDBOX: mode } = process.env;
  if (mode === undefined) return {};
  return {
    CADRE_SANDBOX_MODE: mode,
    CADRE_SANDBOX_CHILDREN: 'agents,tools,init',
    CADRE_SANDBOX_NETWORK: 'all',
    // The home of an agent of a test, which is not the usual one.
    CADRE_SANDBOX_WRITE: path.join(path.dirname(directory), 'home'),
  };
}

/** The variable by which programs of a run share their compiled code. */
export function sharedCode(): Record<string, string> {
  const { NODE_COMPILE_CACHE: directory } = process.env;
  return directory === undefined ? {} : { NODE_COMPILE_CACHE: directory };
}

/** Environment that makes a server record its responses, if the run checks responses. */
export function recordedServer(): Record<string, string> {
  const { SERVER_NODE_OPTIONS: options } = process.env;
  return options === undefined ? {} : { NODE_OPTIONS: options };
}

/** Options of a server that may continue with the directory of an ended one. */
type OwnServerOptions = ServerOptions & { directory?: string };

/** Runs `test` with a new server; always ends it afterwards. */
export async function withServer<T>(
  test: (server: TestServer) => Promise<T>,
  { directory, ...options }: OwnServerOptions = {},
): Promise<T> {
  await using own = tempDirectory('server');
  const server = await startServer(directory ?? own.path, options);
  try {
    return await test(server);
  } finally {
    await server.end('SIGKILL');
    await untilNothingCarries(server.directory);
  }
}

export type StartNext = (
  options?: Pick<ServerOptions, 'args' | 'env' | 'config'>,
) => Promise<TestServer>;

/** Starts servers on one directory, one after the other. Agents and processes live on for a minute without a server. */
export async function withServers(
  use: (start: StartNext, directory: string) => Promise<void>,
): Promise<void> {
  await using directory = tempDirectory('servers');
  let last: TestServer | undefined;
  try {
    await use(async (options = {}) => {
      const env = { CADRE_SERVER_REATTACH_MS: '60000', ...options.env };
      last = await startServer(directory.path, { ...options, env });
      return last;
    }, directory.path);
  } finally {
    await last?.end('SIGTERM');
    await untilNothingCarries(directory.path);
  }
}

/** Starts a server, which is stopped when the test has finished. */
export function testServer(options?: OwnServerOptions): Promise<TestServer> {
  return openForTest((use) => withServer(use, options));
}

/** Makes a user the owner of a test directory and the files directly in it. */
function giveTo({ uid, gid }: { uid: number; gid: number }, directory: string): void {
  // The root of all temporary directories belongs to the user who runs the tests.
  chmodSync(path.dirname(directory), 0o711);
  for (const name of ['.', ...readdirSync(directory)])
    lchownSync(path.join(directory, name), uid, gid);
}

function writeConfig(directory: string, toml: string): string {
  const file = path.join(directory, 'config.toml');
  writeFileSync(file, toml);
  return file;
}

/** Waits until no process of a directory is left, because the keeper may need a moment. */
export async function untilNothingCarries(text: string): Promise<void> {
  const { carriersOf } = await import('../../src/core/children/procfs.ts');
  const { setTimeout: pause } = await import('node:timers/promises');
  for (const deadline = performance.now() + scaled(5000); ; await pause(10)) {
    if (carriersOf(text).length === 0) return;
    if (performance.now() > deadline) break;
  }
  throw new Error(`processes are left: ${carriersOf(text).join(', ')}`);
}

async function firstLine(child: ChildProcess): Promise<string> {
  if (!child.stdout) throw new Error('no stdout');
  for await (const line of createInterface({ input: child.stdout })) return line;
  return new Promise(() => undefined);
}
