import { Command, CommanderError } from 'commander';
import { version } from '../../core/lib/self.ts';
import { systemClock } from '../../core/lib/clock.ts';
import { codeOf } from '../../core/lib/system-error.ts';
import { AppError, isUnreachable, usageError } from '../../api/errors.ts';
import { expandHome } from '../../core/config/paths.ts';
import { isFleetAddress, operandsOf, singulars } from '../../bundles/choose.ts';
import { forLocale } from '../terminal/ascii.ts';
import { addParameters, repeated } from './command.ts';
import { exitCodes, Interrupted, reportFailure } from './exit.ts';
import type { GlobalOptions } from './context.ts';
import type { JqOutput } from './jq/index.ts';
import type { OutputOptions } from './output-options.ts';
import { terminalOf, type CommandIo } from './command-io.ts';

type Load = () => Promise<(program: Command, io: CommandIo) => void>;

/** Modules of commands. A command line loads only its own, because its user waits for every import. */
export interface Commands {
  /** By the names of the commands, in the order of the help. */
  named: Readonly<Record<string, Load>>;
  /** The screen, which opens where no command is named. */
  screen?: Load;
}

const HELP_END = `
Examples:
  cadre serve --demo     Start a server with a demo agent (no setup)
  cadre run "say hello"  Send a prompt in a new session
  cadre                  Open the interactive screen (on a terminal)
  cadre events tail      Follow all events

Exit codes: 0 ok, 1 failed, 2 usage error, 3 not found, 4 not authorized, 5 refused, 6 no server,
            7 conflict, 8 timeout, 9 check not passed, 130 interrupted,
            141 output not read to its end`;

const globalOptions = [
  {
    line: '--url <url>  Address of the cadre server (overrides the environment variable CADRE_URL; repeat the option for several servers)',
    parse: repeated,
  },
  {
    line: '--token-file <file>  File that contains the API token for the server (instead of the environment variable CADRE_TOKEN)',
    parse: repeated,
  },
  {
    line: '--on <server>  Name of the server to use, if several servers are configured',
    parse: repeated,
  },
  '--fleet [url]  Use the fleet of cadre servers at this NATS address (default: environment variable CADRE_FLEET, or fleet.url in the configuration)',
  '--data-dir <directory>  Directory in which cadre stores its data (overrides the environment variable CADRE_DATA_ROOT_DIR)',
  '--select <id>  Row to select when the interactive screen opens, by id or title (only without a command)',
  '--json  Write JSON: one document, or one record per line if the command streams its output',
  '--jq <expression>  Filter the JSON output with a jq expression (implies --json)',
];

/** The tree of these commands; with `argv` only the branch that it names. */
export async function createProgram(
  io: CommandIo,
  { named: commands, screen }: Commands,
  argv?: readonly string[],
): Promise<Command> {
  const program = new Command('cadre')
    .description('Run teams of coding agents on one machine')
    .helpOption('-h, --help', 'Show help for a command')
    .version(version, '-V, --version', 'Print the version')
    .showSuggestionAfterError()
    .configureOutput({
      writeErr: (text) => io.stderr.write(text),
      writeOut: (text) => io.stdout.write(text),
    })
    .exitOverride();
  addParameters(program, globalOptions);
  const [first, second] = argv ? operandsOf(argv) : [];
  const name = first === 'help' ? second : first;
  const named = (name && singulars[name]) ?? name;
  if (named === undefined && asksVersionOnly(argv)) return program;
  const { completeHelp, helpStyle } = await import('./help.ts');
  program.configureHelp(helpStyle).addHelpText('after', HELP_END);
  const wanted = named === undefined ? undefined : commands[named];
  const loads = wanted
    ? [wanted]
    : screen && first === undefined && opensScreen(io, argv)
      ? [screen]
      : Object.values(commands);
  for (const load of loads) (await load())(program, io);
  const isJson = wantsJson(argv);
  completeHelp(program, {
    isJson,
    reportUsage(text, path) {
      const error = usageError(`${inOneLine(text)}: see ${path} --help`);
      reportFailure(error, isJson, io.stderr);
    },
    noScreen: isJson ? 'no command given' : noScreenText(io),
    singulars,
    write: (text) => io.stdout.write(text),
  });
  return program;
}

/** A message of commander in the form of the others: `unknown option "--x" (did you mean --y?)`. */
function inOneLine(text: string): string {
  return text
    .replace(/^error: /, '')
    .trim()
    .replaceAll('\n', ' ')
    .replace(/\.$/, '')
    .replace(
      /^option '.*?(--[\w-]+) \[(\w+)\]' argument '(.*)' is invalid\. (.*)$/s,
      'invalid $1 "$3": $4 (to leave out the $2, write $1 at the end of the command)',
    )
    .replace(/^option '.*?(--[\w-]+)[^']*' argument '(.*)' is invalid\. /s, 'invalid $1 "$2": ')
    .replace(
      /^command-argument value '(.*)' is invalid for argument '([^']*)'\. /s,
      'invalid <$2> "$1": ',
    )
    .replace(': Allowed choices are ', ': expected ')
    .replaceAll(/'(-[^']*|\w[\w.-]*)'/g, '"$1"')
    .replaceAll(/([:.(]) ?([A-Z])(?=[a-z])/g, (_, mark: string, first: string) =>
      mark === '(' ? `(${first.toLowerCase()}` : `: ${first.toLowerCase()}`,
    );
}

/** Whether a command line without a command opens the screen: on a terminal, unless it asks for something else. */
function opensScreen(io: CommandIo, argv: readonly string[] = ['--help']): boolean {
  const asks = argv.some((argument) => ['-h', '--help'].includes(argument)) || wantsJson(argv);
  return !asks && terminalOf(io) !== null;
}

/** Why no screen can be opened, and which commands show the same. */
function noScreenText({ stdin, stdout, env }: CommandIo): string {
  const why = !stdin?.isTTY
    ? 'stdin is not a terminal'
    : !stdout.isTTY
      ? 'stdout is not a terminal'
      : `TERM is ${env.TERM}`;
  return `the screen needs a terminal (${why}): run cadre top or cadre status`;
}

/** Whether a command line asks for JSON. */
function wantsJson(argv: readonly string[] = []): boolean {
  const own = argv.slice(0, argv.includes('--') ? argv.indexOf('--') : undefined);
  return /(^|\n)(--json|--jq(=.*)?|(-o|--output)[\n=]?json)(\n|$)/.test(own.join('\n'));
}

function asksVersionOnly(argv: readonly string[] = []): boolean {
  return argv.includes('--version') || argv.includes('-V');
}

/** Runs the command line of this process, which names one of the commands, and sets the exit code. */
export async function runCli(commands: Commands): Promise<void> {
  const argv = process.argv.slice(2);
  let unread = '';
  let isLossIgnored = false;
  // The reader of a pipe may close it, which is an error only if something continues without a reader.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (isLossIgnored) return;
    if (error.code === 'EPIPE' && unread === '') process.exit(exitCodes.ok);
    if (error.code === 'EPIPE') {
      process.stderr.write(`cadre: ${unread}\n`);
      process.exit(exitCodes.unread);
    }
    const failure = new AppError('internal', `cannot write output: ${error.message}`);
    process.exit(reportFailure(failure, wantsJson(argv), process.stderr));
  });
  const { stdout, stderr, env } = process;
  const io = {
    // Node makes it when it is first read, which most commands never do.
    get stdin() {
      return process.stdin;
    },
    stdout,
    stderr,
    env,
    cwd: currentDirectory,
    clock: systemClock,
    interrupted: signalled,
    unread: (note: string) => void (unread = note),
    ignoreLostOutput: () => void (isLossIgnored = true),
  };
  process.exitCode = await runIn(io, commands, argv);
}

function currentDirectory(): string {
  try {
    return process.cwd();
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') throw error;
    throw usageError('the current directory no longer exists: change to another directory', {
      cause: error,
    });
  }
}

/** Runs a command line; resolves with its exit code. */
export async function runIn(
  outside: Omit<CommandIo, 'connect' | 'exit'>,
  commands: Commands,
  argv: readonly string[],
): Promise<number> {
  let code: number = exitCodes.ok;
  const own = {
    async connect(options, starter) {
      const { connect } = await import('./connect.ts');
      const { env, clock } = outside;
      try {
        return await connect(options, env, clock);
      } catch (error) {
        if (!starter || !isUnreachable(error)) throw error;
        await (await import('./no-server.ts')).startServer(io, options, starter, error);
        return connect(options, env, clock);
      }
    },
    exit(wanted) {
      code = wanted;
    },
  } satisfies Pick<CommandIo, 'connect' | 'exit'>;
  const io = Object.defineProperties(own, Object.getOwnPropertyDescriptors(outside)) as CommandIo;
  if (!wantsJson(argv))
    for (const name of ['stdout', 'stderr'] as const)
      Object.defineProperty(io, name, { value: forLocale(io[name], io.env) });
  const words = withVersion(argv);
  const program = await createProgram(io, commands, words);
  program.hook('preAction', (_program, command) => expandPaths(command, io.env));
  const filter = jqFor(program, io);
  try {
    await program.parseAsync(withFleet(words), { from: 'user' });
  } catch (error) {
    code = exitCodeFor(error, wantsJson(argv), io, program.opts());
  }
  await filter.end();
  return code === exitCodes.ok && filter.failed() ? exitCodes.usage : code;
}

/** Reports what a command failed with, unless a signal ended it or it was reported before. Returns the exit code. */
function exitCodeFor(error: unknown, json: boolean, io: CommandIo, options: GlobalOptions): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? exitCodes.ok : exitCodes.usage;
  return interruption(error, io) ?? reportFailure(error, json, io.stderr, options);
}

/** Replaces `~` in the paths of options, which a shell leaves in `--data-dir=~/x`. */
function expandPaths(command: Command, env: NodeJS.ProcessEnv): void {
  const expanded = (text: string) => expandHome(text, env);
  for (let at: Command | null = command; at; at = at.parent) {
    const { dataDir, config, tokenFile } = at.opts<GlobalOptions>();
    if (dataDir !== undefined) at.setOptionValue('dataDir', expanded(dataDir));
    if (config !== undefined) at.setOptionValue('config', expanded(config));
    if (tokenFile !== undefined) at.setOptionValue('tokenFile', tokenFile.map(expanded));
  }
}

/** Has `--jq` filter what a command writes, and `--output json` do what `--json` does. Returns how to wait for the output, and whether the expression failed. */
function jqFor(program: Command, io: CommandIo) {
  let output: JqOutput | undefined;
  program.hook('preAction', async (_program, command) => {
    const { jq } = program.opts<GlobalOptions>();
    if (jq !== undefined || command.opts<OutputOptions>().output === 'json')
      program.setOptionValue('json', true);
    if (jq === undefined) return;
    output = await (
      await import('./jq/index.ts')
    ).JqOutput.open(jq, { stdout: io.stdout, stderr: io.stderr });
    Object.defineProperty(io, 'stdout', { value: output });
  });
  return {
    end: () => output?.drained(),
    failed: () => output?.failed === true,
  };
}

/** Keeps `--fleet` from taking the word behind it for its address, unless that is one. */
function withFleet(argv: readonly string[]): string[] {
  return argv.map((one, at) => {
    const isAlone = one === '--fleet' && !isFleetAddress(argv[at + 1]);
    return isAlone ? '--fleet=' : one;
  });
}

/** Replaces `--version` by the command `version` where JSON is wanted, which the option of commander does not write. */
function withVersion(argv: readonly string[]): readonly string[] {
  if (!wantsJson(argv) || operandsOf(argv).length > 0) return argv;
  return argv.map((one) => (asksVersionOnly([one]) ? 'version' : one));
}

const SIGNAL_CODES = { SIGINT: exitCodes.interrupted, SIGTERM: 143 } as const;

let signals: AbortController | undefined;

function signalled(): AbortSignal {
  if (!signals) {
    const controller = new AbortController();
    signals = controller;
    for (const [name, exitCode] of Object.entries(SIGNAL_CODES)) {
      process.once(name, () => controller.abort(exitCode));
    }
  }
  return signals.signal;
}

function interruption(error: unknown, io: CommandIo): number | null {
  if (error instanceof Interrupted) return exitCodes.interrupted;
  if (error instanceof AppError && error.code !== 'unreachable') return null;
  const { aborted, reason } = io.interrupted();
  return aborted ? Number(reason) : null;
}
