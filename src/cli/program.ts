import { Command, CommanderError } from 'commander';
import { version } from '../lib/self.ts';
import { systemClock } from '../lib/clock.ts';
import { AppError } from '../errors.ts';
import { eventCommands } from './commands/events.ts';
import { runCommand } from './commands/run.ts';
import { serveCommand } from './commands/serve.ts';
import { sessionCommands } from './commands/sessions.ts';
import { statusCommands } from './commands/status.ts';
import { connect } from './context.ts';
import { exitCodes, reportFailure } from './exit.ts';
import type { World } from './world.ts';

/** The command tree. */
export function createProgram(world: World): Command {
  const program = new Command('cadre')
    .description('Runs teams of coding agents on one machine.')
    .version(version, '-V, --version', 'show the version')
    .option('--url <url>', "the server's address (CADRE_URL)")
    .option('--token-file <file>', 'a file with the API token (CADRE_TOKEN: the token itself)')
    .option('--data-dir <directory>', 'the data directory (CADRE_DATA_ROOT_DIR)')
    .option('--json', 'write JSON: one document, or one record a line for streams')
    .showSuggestionAfterError()
    .showHelpAfterError('(see --help)')
    .configureOutput({
      writeErr: (text) => world.stderr.write(text),
      writeOut: (text) => world.stdout.write(text),
    })
    .exitOverride()
    .addHelpText(
      'after',
      `
Examples:
  cadre serve --demo                    a server with a demo agent, nothing to set up
  cadre run "say hello"                 one session, one turn, streamed
  cadre events tail                     everything that happens, as it happens

Exit codes: 0 ok, 1 failed, 2 usage, 3 not found, 4 auth, 5 refused, 6 no server, 7 conflict, 8 timeout`,
    );
  serveCommand(program, world);
  runCommand(program, world);
  sessionCommands(program, world);
  eventCommands(program, world);
  statusCommands(program, world);
  program
    .command('demo-agent', { hidden: true })
    .description('the agent of serve --demo, on stdin and stdout')
    .action(async () => {
      const { runDemoAgent } = await import('../demo-agent/index.ts');
      await runDemoAgent({ stdin: process.stdin, stdout: process.stdout });
    });
  return program;
}

/** Runs a command line; resolves with its exit code. */
export async function runCli(argv: readonly string[]): Promise<number> {
  let code: number = exitCodes.ok;
  const world: World = {
    stdin: process.stdin,
    stdout: process.stdout,
    stderr: process.stderr,
    env: process.env,
    clock: systemClock,
    connect: (options) => connect(options, process.env),
    interrupted: signalled,
    exit(wanted) {
      code = wanted;
    },
  };
  // Whoever reads us has seen enough: no error.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(exitCodes.ok);
    throw error;
  });
  const program = createProgram(world);
  try {
    await program.parseAsync([...argv], { from: 'user' });
  } catch (error) {
    if (error instanceof CommanderError)
      return error.exitCode === 0 ? exitCodes.ok : exitCodes.usage;
    const stop = interruption(error);
    if (stop !== null) return stop;
    return reportFailure(error, program.opts().json === true, process.stderr);
  }
  return code;
}

const SIGNAL_CODES = { SIGINT: 130, SIGTERM: 143 } as const;

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

function interruption(error: unknown): number | null {
  if (!signals?.signal.aborted) return null;
  if (error instanceof AppError && error.code !== 'unreachable') return null;
  return Number(signals.signal.reason);
}
