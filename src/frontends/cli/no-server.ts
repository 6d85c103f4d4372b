import { serversOf } from '../../client/routed.ts';
import { AppError, isAppError, isUnreachable, unreachableError } from '../../api/errors.ts';
import { findConfig, usable } from '../../core/config/load.ts';
import { isStartForbidden } from '../../core/config/registration.ts';
import { serverOnceItAnswers } from './answering.ts';
import { commandOn } from './command-on.ts';
import { askedServers, type GlobalOptions, serverDirectory, tokenFileOf } from './context.ts';
import { ServerStart } from './server-start.ts';
import type { ServeOptions } from './serve-options.ts';
import { withDirectory } from './hints.ts';
import { managerOf } from './service/choose-manager.ts';
import { sealIn } from './service/install.ts';
import type { Manager } from './service/manager.ts';
import { canAsk, type Starter, type CommandIo } from './command-io.ts';
import fs from 'node:fs';
import path from 'node:path';
import { endpoints } from '../../api/index.ts';

/** A server that a command started stops after this time without work and without clients, in ms. */
const IDLE_MS = 3_600_000;
/** The maximum time to wait for a server that another command starts at the same moment, in ms. */
const OTHER_START_MS = 30_000;

/**
 * Starts the server of this machine in the background, as `client.autostart` allows, after a command found none. Throws
 * `unreachable`, with what to do, where the user chose another server, has stopped this one, or runs it as a service.
 */
export async function startServer(
  io: CommandIo,
  options: GlobalOptions,
  starter: Starter,
  missing: AppError,
): Promise<void> {
  const { env, stderr } = io;
  if ((await askedServers(options, env)).kind !== 'local') throw missing;
  const directory = await serverDirectory(options, env);
  const manager = managerOf(env);
  if (manager !== null && (await isServiceFor(directory, manager, env)))
    throw unreachableError(
      `the server is installed as a service, but the service is not running: start it with ${manager.restartCommand}`,
    );
  if (isStartForbidden(directory))
    throw unreachableError(
      `the server on ${directory} was stopped with cadre stop: start it with ${commandOn('serve --detach', options)}`,
    );
  // A wrong file is reported before a server is started for it.
  tokenFileOf(options);
  const found = findConfig({ config: options.config, dataDir: options.dataDir }, env);
  const { server, client } = usable(found);
  const isWatched = io.stdin.isTTY === true || stderr.isTTY === true;
  const wanted = client.autostart ?? (isWatched || starter === 'editor' ? 'always' : 'never');
  if (wanted === 'never' || (wanted === 'ask' && !(await agreed(io)))) throw missing;
  const { url } = await started(io, directory, {
    dataDir: directory,
    ...(options.config !== undefined && { config: options.config }),
    freePort: found.originOf('server.bind_address') === 'default',
    ...(server.stop_after_idle_ms === null && { stopAfterIdle: IDLE_MS }),
  });
  const stop = commandOn('stop', options);
  stderr.write(`cadre: started a server in the background at ${url}; stop it with ${stop}\n`);
}

/** Whether a service is installed for a data directory. */
async function isServiceFor(
  directory: string,
  manager: Manager,
  env: NodeJS.ProcessEnv,
): Promise<boolean> {
  if (sealIn(manager.file) === null) return false;
  // A link may lead nowhere.
  const text = fs.existsSync(manager.file) ? fs.readFileSync(manager.file, 'utf8') : '';
  const isNamed = manager.names(text, directory);
  if (isNamed !== null) return isNamed;
  const { CADRE_DATA_ROOT_DIR: _, ...others } = env;
  return directory === (await serverDirectory({}, others));
}

/** Asks whether to start a server; Enter means yes. Returns false if nobody can be asked. */
async function agreed(io: CommandIo): Promise<boolean> {
  if (!canAsk(io)) return false;
  const { askYes } = await import('./choose.ts');
  return askYes(io, 'No server is running. Start one in the background? [Y/n] ', true);
}

/** Starts the server, or waits for the one that another command is starting. */
async function started(
  io: CommandIo,
  directory: string,
  options: ServeOptions,
): Promise<{ url: string }> {
  const { clock } = io;
  const until = clock.monotonic() + OTHER_START_MS;
  for (;;) {
    try {
      return await new ServerStart(io, options, directory).run(false);
    } catch (error) {
      if (!isAppError(error, 'conflict')) throw error;
      // A conflict about the port is not about another server of this directory.
      if (error.message.startsWith('port ') || clock.monotonic() > until) throw error;
      const signal = io.interrupted();
      const other = await serverOnceItAnswers(directory, { clock, signal, limitMs: 1000 });
      if (other !== null) return other;
    }
  }
}

/** The time between two tries, in ms. */
const RETRY_MS = 500;

/**
 * Waits, after `error`, until the one server that the options name answers, for at most `limitMs` (absent: without limit).
 * Returns false if the user ended the wait, which sets the exit code. Throws the last error after the limit. Throws
 * `error` at once if it has another cause, if several servers are asked, or if no server has ever run.
 */
export async function waitForServer(
  io: CommandIo,
  global: GlobalOptions,
  error: unknown,
  limitMs = Number.POSITIVE_INFINITY,
): Promise<boolean> {
  if (!isUnreachable(error) || !(await isWaitUseful(global, io.env))) throw error;
  const { clock, stderr } = io;
  const until = clock.monotonic() + limitMs;
  const signal = io.interrupted();
  let last = error;
  for (let isFirst = true; ; isFirst = false) {
    const left = until - clock.monotonic();
    if (left <= 0) throw last;
    if (isFirst)
      stderr.write(`cadre: ${withDirectory(last.message, global)}: waiting for the server\n`);
    await clock.sleep(Math.min(RETRY_MS, left), signal).catch(() => undefined);
    if (signal.aborted) {
      io.exit(Number(signal.reason));
      return false;
    }
    const problem = await problemOfServer(io, global);
    if (problem === null) break;
    last = problem;
  }
  stderr.write('cadre: connected\n');
  return true;
}

/** Returns why the server cannot be reached; null where it answers. Throws every other error. */
async function problemOfServer(io: CommandIo, global: GlobalOptions): Promise<AppError | null> {
  try {
    const client = await io.connect(global);
    try {
      if (!serversOf(client)) await client.call(endpoints.getVersion, {});
      return null;
    } finally {
      client.close();
    }
  } catch (error) {
    if (isUnreachable(error)) return error;
    throw error;
  }
}

/** Whether the options name one server, which has an address or has run on this machine before. */
async function isWaitUseful(global: GlobalOptions, env: NodeJS.ProcessEnv): Promise<boolean> {
  const asked = await askedServers(global, env);
  if (asked.kind === 'fleet' || (asked.kind === 'named' && !asked.isOne)) return false;
  if (asked.kind === 'address') return true;
  if (asked.kind === 'named' && asked.servers.some(({ url }) => url !== null)) return true;
  return fs.existsSync(path.join(await serverDirectory(global, env), 'events.cadre'));
}
