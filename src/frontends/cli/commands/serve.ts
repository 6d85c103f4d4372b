import { existsSync, mkdirSync } from 'node:fs';
import { homedir } from 'node:os';
import { defaultStateDir } from '../../../agents/demo/state-directory.ts';
import { fleetFileProblems } from '../../../core/config/fleet.ts';
import { closeInherited } from '../../../core/children/descriptors.ts';
import { dataDirectory, findConfig, usable } from '../../../core/config/load.ts';
import type { Config } from '../../../core/config/schema.ts';
import { invalidError } from '../../../api/errors.ts';
import { failpointsFrom } from '../../../core/lib/failpoint.ts';
import { hasProc } from '../../../core/lib/platform.ts';
import { keepLogSmall, ownLog } from '../../../core/lib/own-log.ts';
import { selfCommand, version } from '../../../core/lib/self.ts';
import { keepHeapGrowthSmall, keepHeapSmall } from '../../../core/lib/small-heap.ts';
import { Undo } from '../../../core/lib/undo.ts';
import type { Runtime } from '../../../server/runtime/start.ts';
import { Notifier } from '../../service/notifier.ts';
import type { Migration } from '../../../core/store/migrate.ts';
import { durationText } from '../../terminal/time.ts';
import { localCommand } from '../command.ts';
import { commandOn } from '../command-on.ts';
import { exitCodes } from '../exit.ts';
import { refuseRemote, serveOptions, type ServeOptions } from '../serve-options.ts';
import { type LocalContext, showDocument, type CommandIo } from '../command-io.ts';
import { endForNext } from './stop.ts';
import { counted } from '../../../core/lib/counted.ts';

/** How long sockets and timers that are still open may keep the process of a stopped server alive, in milliseconds. */
const LINGER_MS = 500;
const QUIET = '  log    warnings and errors (all with --log-level info)\n  stop   Ctrl-C\n';

/** A stop may take this much longer than the drains of turns and worktrees, in milliseconds. */
const STOP_MS = 20_000;

/** `cadre serve`: runs the server in the foreground, or starts a server in the background. */
export const serveCommand = localCommand({
  name: 'serve',
  description: 'Start the server in the foreground',
  parameters: [
    ...serveOptions,
    '--take-over  Replace the server that is running, and continue its running turns (see server.reattach_ms)',
    '--detach  Start the server in the background, and exit as soon as the server answers',
  ],
  run: ({ io, global }: LocalContext<ServeHereOptions>) =>
    global.detach ? detach(io, global) : serve(io, global),
});

type ServeHereOptions = ServeOptions & { detach?: boolean; takeOver?: boolean };

async function detach(io: CommandIo, options: ServeHereOptions): Promise<void> {
  const { ServerStart } = await import('../server-start.ts');
  const { directory } = await prepared(io, options);
  const started = await new ServerStart(io, options, directory).run(options.demo === true);
  showDocument(io, options, started, () => {
    const { url, pid, data_dir, log } = started;
    return `cadre ${version} listens on ${url}\n  pid    ${pid}\n  data   ${data_dir}\n  log    ${log}\n  stop   ${commandOn('stop', options)}\n`;
  });
}

/** Reads the configuration, checks the address, and ends the server that the new one takes over from. */
async function prepared(io: CommandIo, options: ServeHereOptions) {
  const { config, isQuiet } = configured(io, options);
  refuseRemote(config.server.bind_address, options.allowRemote === true, io);
  const directory = dataDirectory(config, io.env);
  if (options.takeOver) await endForNext(io, directory);
  return { config, isQuiet, directory };
}

/** Throws `invalid` if this is Linux, and /proc is not mounted. */
function assertProc(): void {
  if (!hasProc || existsSync('/proc/self/fd')) return;
  throw invalidError('/proc is missing: mount /proc, with which cadre finds and stops processes');
}

async function serve(io: CommandIo, options: ServeHereOptions): Promise<void> {
  keepHeapSmall();
  assertProc();
  closeInherited();
  const onTrouble = (message: string) => void io.stderr.write(`cadre: ${message}\n`);
  const notifier = Notifier.takenFrom(io.env, { clock: io.clock, onTrouble });
  try {
    await serveAndNotify(io, options, notifier);
  } catch (error) {
    await notifier?.failed((error as Error).message);
    throw error;
  }
}

/** Serves until a signal arrives, and reports the state to the service manager, if there is one. */
async function serveAndNotify(
  io: CommandIo,
  options: ServeHereOptions,
  notifier: Notifier | null,
): Promise<void> {
  const { startRuntime } = await import('../../../server/runtime/start.ts');
  const { config, isQuiet, directory } = await prepared(io, options);

  const stop = new AbortController();
  const hurry = new AbortController();
  let runtime: Runtime | undefined;
  const signalled = () => {
    if (stop.signal.aborted) return hurry.abort();
    if (runtime && io.stderr.isTTY) io.stderr.write(farewell(runtime, config));
    void notifier?.stopping(2 * config.server.drain_ms + STOP_MS);
    stop.abort();
  };
  for (const name of ['SIGTERM', 'SIGINT'] as const) process.on(name, signalled);
  let handsOver = false;
  process.on('SIGUSR2', () => {
    handsOver ||= !stop.signal.aborted;
    stop.abort();
  });
  // SIGHUP is also sent when the terminal is closed. The server keeps running then, although it can log nothing.
  io.stderr.on('error', () => undefined);
  io.ignoreLostOutput?.();
  process.on('SIGHUP', () => {
    if (!runtime || stop.signal.aborted) return;
    void notifier?.reloading();
    runtime.reload(() => configured(io, options).config);
    void notifier?.ready(statusOf(runtime));
  });

  runtime = await startRuntime({
    config,
    directory,
    logTo: io.stderr,
    failpoint: failpointsFrom(io.env.CADRE_FAILPOINTS),
    freePort: options.freePort === true,
    onIdle: () => stop.abort(),
    onFatal(error) {
      io.stderr.write(`cadre: ${error.message}\n`);
      // No orderly stop, because nothing may be written or answered any more. The keeper ends the children.
      process.exit(exitCodes.failed);
    },
  });
  keepHeapGrowthSmall();
  if (options.demo) makeDemoState(io.env);
  try {
    announce(io, options, runtime, { directory, isQuiet });
    await using _watch = startWatching(io, directory, runtime, notifier);
    if (!stop.signal.aborted)
      await new Promise((resolve) => stop.signal.addEventListener('abort', resolve));
  } finally {
    // Also after an error: the server would run on, and no signal would end it.
    await (handsOver ? runtime.handOver() : runtime.stop(hurry.signal));
    // Before Node frees its memory it restores the default action of signals: one more Ctrl-C would kill a server that has
    // stopped in order. This skips that step, once nothing else is left.
    process.once('exit', () => process.exit());
    // A NATS server that accepts connections and never answers leaves a socket open that cannot be closed: do not wait.
    io.clock.after(handsOver ? 0 : LINGER_MS, () => process.exit());
  }
}

function announce(
  { stdout }: CommandIo,
  { json }: ServeOptions,
  { url, tokenFile, migration }: Runtime,
  { directory, isQuiet }: { directory: string; isQuiet: boolean },
): void {
  const ready = {
    url,
    pid: process.pid,
    version,
    token_file: tokenFile,
    data_dir: directory,
    ...(migration && { upgraded: migration }),
  };
  stdout.write(
    json
      ? `${JSON.stringify(ready)}\n`
      : `cadre ${version} listens on ${url}\n  data   ${directory}\n  token  ${tokenFile ?? 'from the configuration'}\n${upgradeText(migration)}${isQuiet ? QUIET : ''}`,
  );
}

/** Reports to the manager that the server is ready, and later that it works; keeps its log small. */
function startWatching(
  { clock }: CommandIo,
  directory: string,
  runtime: Runtime,
  notifier: Notifier | null,
): AsyncDisposable {
  const ends = new Undo();
  const log = ownLog(directory);
  if (log !== null) ends.use(keepLogSmall(log, clock));
  if (!notifier) return ends;
  void notifier.ready(statusOf(runtime));
  ends.use(
    notifier.watch(
      () => runtime.proveStore(),
      () => statusOf(runtime),
    ),
  );
  return ends;
}

function statusOf(runtime: Runtime): string {
  const { turns, processes } = runtime.underWay();
  return `${runtime.url}: ${counted(turns, 'turn')}, ${counted(processes, 'process', 'processes')}`;
}

/** The report about data of an older version, which the start has upgraded. */
function upgradeText(migration: Migration | null): string {
  if (!migration) return '';
  const { version: before, format, copy } = migration;
  return (
    `  upgraded data of cadre ${before} (format ${format}) to cadre ${version};\n` +
    `         return to ${copy} with cadre db rollback\n`
  );
}

/**
 * Returns the configuration, and whether it is quiet: a terminal shows a banner and then only warnings and errors,
 * unless a level of the log was chosen.
 */
function configured(io: CommandIo, options: ServeOptions): { config: Config; isQuiet: boolean } {
  const found = findConfig(options, io.env);
  const config = usable(found);
  const [problem] = fleetFileProblems(config, 'node');
  if (problem !== undefined) throw invalidError(`invalid configuration: ${problem}`);
  const isQuiet = io.stderr.isTTY === true && found.originOf('log.level') === 'default';
  if (isQuiet) config.log.level = 'warn';
  if (options.demo) {
    config.providers.acp = demoAgent(io.env);
    // Whoever starts the demo wants it, whatever other agents are installed.
    config.defaults = {
      ...config.defaults,
      provider: 'acp',
      agent: null,
      model: null,
      effort: null,
    };
  }
  return { config, isQuiet };
}

/** The text of the first signal on a terminal: the reasons for the wait, and the way to end it. */
function farewell(runtime: Runtime, { server }: Config): string {
  const { turns, processes } = runtime.underWay();
  const lines = [
    'cadre: stopping; press Ctrl-C again to stop at once',
    ...(turns > 0
      ? [`  waiting up to ${durationText(server.drain_ms)} for ${counted(turns, 'turn')}`]
      : []),
    ...(processes > 0 ? [`  stopping ${counted(processes, 'process', 'processes')}`] : []),
  ];
  return `\n${lines.join('\n')}\n`;
}

/** Makes the directory of the demo agent, because a sandbox shows only directories that exist. */
function makeDemoState(env: NodeJS.ProcessEnv): void {
  try {
    mkdirSync(defaultStateDir(env, homedir()), { recursive: true, mode: 0o700 });
  } catch {
    // The agent reports the error in its first turn.
  }
}

function demoAgent(env: NodeJS.ProcessEnv) {
  const { file, args } = selfCommand();
  const state = defaultStateDir(env, homedir());
  const agent = {
    enabled: true,
    command: file,
    args: [...args, 'demo-agent'],
    env: { CADRE_DEMO_STATE: state },
    request_timeout_ms: 30_000,
    sandbox: { network: null, hosts: [], read: [], write: [state], hide: [], nests: null },
  };
  // The default agent has no name of its own, by which a command could choose it.
  const named = { home: null, auth_method: null, pass_env: null, modes: {}, asks: null };
  return {
    ...agent,
    transport: 'stdio',
    default_agent: null,
    agents: { demo: { ...agent, ...named } },
  };
}
