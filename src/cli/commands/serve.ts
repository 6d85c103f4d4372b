import { type Command, Option } from 'commander';
import { keys } from '../../config/keys.ts';
import { dataDirectory, findConfig, usable } from '../../config/load.ts';
import type { Config } from '../../config/schema.ts';
import { AppError } from '../../errors.ts';
import { failpointsFrom } from '../../lib/failpoint.ts';
import { selfCommand, version } from '../../lib/self.ts';
import { keepHeapSmall } from '../../lib/small-heap.ts';
import type { Runtime } from '../../runtime/start.ts';
import type { Migration } from '../../store/migrate.ts';
import { durationText } from '../../terminal/time.ts';
import { choicesOf } from '../choices.ts';
import type { GlobalOptions } from '../context.ts';
import { exitCodes } from '../exit.ts';
import type { World } from '../world.ts';

/** How long what is still open may keep a stopped server alive, in milliseconds. */
const LINGER_MS = 500;
const QUIET = '  log    warnings and errors; --log-level info shows all\n  stop   Ctrl-C\n';

interface ServeOptions {
  config?: string;
  bind?: string;
  port?: string;
  logLevel?: string;
  demo?: boolean;
  allowRemote?: boolean;
}

/** `cadre serve`: runs the server in the foreground. */
export function serveCommand(program: Command, world: World): void {
  program
    .command('serve')
    .description('run the server in the foreground')
    .option('--config <file>', 'the configuration (CADRE_CONFIG)')
    .option('--bind <host:port>', 'the address to listen on')
    .option('--port <port>', 'the port to listen on, on 127.0.0.1; 0 takes a free one')
    .addOption(new Option('--log-level <level>', 'what is logged').choices(logLevels()))
    .option('--allow-remote', 'let --bind name an address that other machines reach')
    .option('--demo', 'use the built-in demo agent as the acp provider: no account, no model')
    .action(async (options: ServeOptions, command: Command) => {
      await serve(world, { ...command.optsWithGlobals<GlobalOptions>(), ...options });
    });
}

function logLevels(): readonly string[] {
  const key = keys.find(({ name }) => name === 'log.level');
  return choicesOf(key?.schema) ?? [];
}

async function serve(world: World, options: ServeOptions & GlobalOptions): Promise<void> {
  keepHeapSmall();
  const { startRuntime } = await import('../../runtime/start.ts');
  const { config, isQuiet } = configured(world, options);
  refuseRemote(config.server.bind_address, options.allowRemote === true, world);
  const directory = dataDirectory(config, world.env);

  const stop = new AbortController();
  const hurry = new AbortController();
  let runtime: Runtime | undefined;
  const signalled = () => {
    if (stop.signal.aborted) return hurry.abort();
    if (runtime && world.stderr.isTTY) world.stderr.write(farewell(runtime, config));
    stop.abort();
  };
  for (const name of ['SIGTERM', 'SIGINT'] as const) process.on(name, signalled);
  // SIGHUP is also sent when the terminal is closed. The server goes on then, though it can log nothing any more.
  world.stderr.on('error', () => undefined);
  process.on('SIGHUP', () => runtime?.reload(() => configured(world, options).config));

  runtime = await startRuntime({
    config,
    directory,
    logTo: world.stderr,
    failpoint: failpointsFrom(world.env.CADRE_FAILPOINTS),
    onFatal(error) {
      world.stderr.write(`cadre: ${error.message}\n`);
      // No orderly stop, because nothing may be written or answered any more. The keeper ends the children.
      process.exit(exitCodes.failed);
    },
  });
  const { url, tokenFile, migration } = runtime;
  const ready = {
    url,
    pid: process.pid,
    version,
    token_file: tokenFile,
    data_dir: directory,
    ...(migration && { upgraded: migration }),
  };
  world.stdout.write(
    options.json
      ? `${JSON.stringify(ready)}\n`
      : `cadre ${version} listens on ${url}\n  data   ${directory}\n  token  ${tokenFile ?? 'from the configuration'}\n${upgradeText(migration)}${isQuiet ? QUIET : ''}`,
  );
  if (!stop.signal.aborted)
    await new Promise((resolve) => stop.signal.addEventListener('abort', resolve));
  await runtime.stop(hurry.signal);
  // NATS that takes connections and says nothing leaves a socket open that nobody can close: nothing waits for it.
  world.clock.after(LINGER_MS, () => process.exit());
}

/** What a start says of data of an older version. */
function upgradeText(migration: Migration | null): string {
  if (!migration) return '';
  const { version: before, format, copy } = migration;
  return (
    `  data was of cadre ${before} (format ${format}) and is of cadre ${version} now;\n` +
    `         cadre db rollback goes back to ${copy}\n`
  );
}

/**
 * Returns the configuration, and whether it is quiet: a terminal shows a banner and then only warnings and errors,
 * unless a level of the log was chosen.
 */
function configured(
  world: World,
  options: ServeOptions & GlobalOptions,
): { config: Config; isQuiet: boolean } {
  const found = findConfig(options, world.env);
  const config = usable(found);
  const isQuiet = world.stderr.isTTY === true && found.originOf('log.level') === 'default';
  if (isQuiet) config.log.level = 'warn';
  if (options.demo) {
    config.providers.acp = demoAgent(world.env);
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

/** What the first signal prints on a terminal: what is waited for, and how to wait no longer. */
function farewell(runtime: Runtime, { server }: Config): string {
  const { turns, processes } = runtime.underWay();
  const lines = [
    'cadre: stopping; press Ctrl-C again to stop at once',
    ...(turns > 0
      ? [`  waits up to ${durationText(server.drain_ms)} for ${counted(turns, 'turn')}`]
      : []),
    ...(processes > 0 ? [`  ends ${counted(processes, 'process', 'processes')}`] : []),
  ];
  return `\n${lines.join('\n')}\n`;
}

function counted(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`;
}

/** Throws `invalid` for an address beyond loopback without --allow-remote, because the server speaks plain HTTP. */
function refuseRemote(address: string, isAllowed: boolean, { stderr }: World): void {
  if (/^(127\.\d+\.\d+\.\d+|localhost|\[::1\]):\d+$/.test(address)) return;
  if (!isAllowed) {
    throw new AppError(
      'invalid',
      `${address} can be reached by other machines: pass --allow-remote if that is meant`,
    );
  }
  stderr.write(
    `cadre: ${address} can be reached by other machines, and traffic is plain HTTP: put TLS in front of it\n`,
  );
}

function demoAgent(env: NodeJS.ProcessEnv) {
  const { file, args } = selfCommand();
  const passed = env.CADRE_DEMO_STATE ? { CADRE_DEMO_STATE: env.CADRE_DEMO_STATE } : {};
  return {
    enabled: true,
    command: file,
    args: [...args, 'demo-agent'],
    env: passed,
    transport: 'stdio',
    request_timeout_ms: 30_000,
    default_agent: null,
    agents: {},
  };
}
