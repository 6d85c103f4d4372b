import { Command, CommanderError } from 'commander';
import { version } from '../lib/self.ts';
import { systemClock } from '../lib/clock.ts';
import { AppError } from '../errors.ts';
import { exitCodes, reportFailure } from './exit.ts';
import { terminalOf, type World } from './world.ts';

type Register = (program: Command, world: World) => void;

/** The modules of the commands. A command line loads only its own, because its user waits for every import. */
const commands: Record<string, () => Promise<Register>> = {
  serve: async () => (await import('./commands/serve.ts')).serveCommand,
  run: async () => (await import('./commands/run.ts')).runCommand,
  sessions: async () => (await import('./commands/sessions.ts')).sessionCommands,
  approvals: async () => (await import('./commands/approvals.ts')).approvalCommands,
  providers: async () => (await import('./commands/providers.ts')).providerCommands,
  processes: async () => (await import('./commands/processes.ts')).processCommands,
  worktrees: async () => (await import('./commands/worktrees.ts')).worktreeCommands,
  teams: async () => (await import('./commands/teams.ts')).teamCommands,
  events: async () => (await import('./commands/events.ts')).eventCommands,
  mcp: async () => (await import('./commands/mcp.ts')).mcpCommands,
  acp: async () => (await import('./commands/acp.ts')).acpCommand,
  fleet: async () => (await import('./commands/fleet.ts')).fleetCommands,
  tokens: async () => (await import('./commands/tokens.ts')).tokenCommands,
  db: async () => (await import('./commands/db.ts')).dbCommands,
  config: async () => (await import('./commands/config.ts')).configCommands,
  doctor: async () => (await import('./commands/doctor.ts')).doctorCommand,
  top: async () => (await import('./commands/top.ts')).topCommand,
  status: async () => (await import('./commands/status.ts')).statusCommand,
  completion: async () => (await import('./commands/completion.ts')).completionCommand,
  diagnostics: async () => (await import('./commands/diagnostics.ts')).diagnosticsCommands,
  metrics: async () => (await import('./commands/diagnostics.ts')).metricsCommand,
  version: async () => (await import('./commands/version.ts')).versionCommand,
  __commands: async () =>
    (await import('./commands/completion.ts')).commandTableCommand(createProgram),
  'demo-agent': async () => (await import('./commands/demo-agent.ts')).demoAgentCommand,
};

/** The command tree; with `argv` only the branch that it names. */
export async function createProgram(world: World, argv?: readonly string[]): Promise<Command> {
  const program = new Command('cadre')
    .description('Runs teams of coding agents on one machine.')
    .version(version, '-V, --version', 'show the version')
    .option('--url <url>', "the server's address (CADRE_URL); repeat it to ask several", repeated)
    .option(
      '--token-file <file>',
      'a file with the API token (CADRE_TOKEN: the token itself)',
      repeated,
    )
    .option('--on <server>', 'of several servers, only this one, by its name', repeated)
    .option('--fleet [url]', 'a fleet, by the address of its NATS (CADRE_FLEET; else [fleet])')
    .option('--data-dir <directory>', 'the data directory (CADRE_DATA_ROOT_DIR)')
    .option(
      '--select <id>',
      'without a command, on a terminal: the thing that the screen begins at',
    )
    .option('--json', 'write JSON: one document, or one record a line for streams')
    .showSuggestionAfterError()
    .configureOutput({
      writeErr: (text) => world.stderr.write(text),
      writeOut: (text) => world.stdout.write(text),
    })
    .exitOverride();
  const [first, second] = argv ? operandsOf(program, argv) : [];
  const named = first === 'help' ? second : first;
  if (named === undefined && asksVersionOnly(argv)) return program;
  const { completeHelp, helpStyle } = await import('./help.ts');
  program.configureHelp(helpStyle).addHelpText(
    'after',
    `
Examples:
  cadre serve --demo                    a server with a demo agent, nothing to set up
  cadre run "say hello"                 one session, one turn, streamed
  cadre                                 the screen, on a terminal: everything that goes on
  cadre events tail                     everything that happens, as it happens

Exit codes: 0 ok, 1 failed, 2 usage, 3 not found, 4 auth, 5 refused, 6 no server, 7 conflict, 8 timeout`,
  );
  const wanted = named === undefined ? undefined : commands[named];
  const loads = wanted
    ? [wanted]
    : first === undefined && opensScreen(world, argv)
      ? [home]
      : Object.values(commands);
  for (const load of loads) (await load())(program, world);
  completeHelp(program, (text, path) => {
    const isJson = argv?.includes('--json') === true;
    reportFailure(
      new AppError('usage', `${inOneLine(text)}; see ${path} --help`),
      isJson,
      world.stderr,
    );
  });
  return program;
}

/** All values of an option. */
function repeated(value: string, before: readonly string[] = []): readonly string[] {
  return [...before, value];
}

/** A message of commander's as ours are: `unknown option '--x' (Did you mean --y?)`. */
function inOneLine(text: string): string {
  return text
    .replace(/^error: /, '')
    .trim()
    .replaceAll('\n', ' ')
    .replace(/\.$/, '')
    .replaceAll(/\. ([A-Z])/g, (_, first: string) => `: ${first.toLowerCase()}`);
}

/** The arguments that are neither options nor values of options of the program. */
function operandsOf(program: Command, argv: readonly string[]): string[] {
  const takesValue = new Set(
    program.options.filter(({ required }) => required).map(({ long }) => long),
  );
  return argv.filter((argument, i) => !argument.startsWith('-') && !takesValue.has(argv[i - 1]));
}

const home = async () => (await import('./commands/home.ts')).homeCommand;

/** Whether a command line without a command opens the screen: on a terminal, unless it asks for something else. */
function opensScreen(world: World, argv: readonly string[] = ['--help']): boolean {
  const asks = argv.some((argument) => ['-h', '--help', '--json'].includes(argument));
  return !asks && terminalOf(world) !== null;
}

function asksVersionOnly(argv: readonly string[] = []): boolean {
  return argv.includes('--version') || argv.includes('-V');
}

/** Runs the command line of this process; resolves with its exit code. */
export async function runCli(argv: readonly string[]): Promise<number> {
  // The reader of a pipe has closed it, which is no error.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(exitCodes.ok);
    const failure = new AppError(
      'internal',
      `what this command prints cannot be written: ${error.message}`,
    );
    process.exit(reportFailure(failure, argv.includes('--json'), process.stderr));
  });
  const { stdin, stdout, stderr, env } = process;
  const cwd = () => process.cwd();
  const world = { stdin, stdout, stderr, env, cwd, clock: systemClock, interrupted: signalled };
  return runIn(world, argv);
}

/** Runs a command line in a world; resolves with its exit code. */
export async function runIn(
  outside: Omit<World, 'connect' | 'exit'>,
  argv: readonly string[],
): Promise<number> {
  let code: number = exitCodes.ok;
  const world: World = {
    ...outside,
    connect: async (options) =>
      (await import('./connect.ts')).connect(options, world.env, world.clock),
    exit(wanted) {
      code = wanted;
    },
  };
  const program = await createProgram(world, argv);
  try {
    await program.parseAsync(withFleet(argv), { from: 'user' });
  } catch (error) {
    if (error instanceof CommanderError)
      return error.exitCode === 0 ? exitCodes.ok : exitCodes.usage;
    const stop = interruption(error, world);
    if (stop !== null) return stop;
    return reportFailure(error, program.opts().json === true, world.stderr);
  }
  return code;
}

/** Keeps `--fleet` from taking the word behind it for its address, unless that is one. */
function withFleet(argv: readonly string[]): string[] {
  return argv.map((one, at) => {
    const isAlone = one === '--fleet' && !argv[at + 1]?.includes('://');
    return isAlone ? '--fleet=' : one;
  });
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

function interruption(error: unknown, world: World): number | null {
  if (error instanceof AppError && error.code !== 'unreachable') return null;
  const { aborted, reason } = world.interrupted();
  return aborted ? Number(reason) : null;
}
