import os from 'node:os';
import path from 'node:path';
import type { Command } from 'commander';
import { endpoints } from '../../../api/index.ts';
import type { Process } from '../../../api/processes.ts';
import type { Client } from '../../../client/client.ts';
import { shellWord } from '../../../core/lib/shell-word.ts';
import { exitCodes } from '../exit.ts';
import { sessionId } from '../find.ts';
import { followOutput } from '../follow-output.ts';
import { milliseconds } from '../milliseconds.ts';
import { durationText } from '../../terminal/time.ts';
import { mayReadInput, sendInput } from '../send-input.ts';
import { statusText } from '../process-text.ts';
import { clientAction, type CommandContext, type World } from '../world.ts';

/** `cadre processes run`. */
export function processRun(processes: Command, world: World): void {
  processes
    .command('run')
    .description(
      'Run a command on the server (the command outlives this terminal, and stops with the server)',
    )
    .argument(
      '<command...>',
      'Command to run: a shell command line in quotes, or a program and its arguments after --',
    )
    .option(
      '--cwd <directory>',
      'Working directory of the process (default: current directory, or with --session the directory of the session)',
    )
    .option(
      '--session <session>',
      'Session that owns the process (closing the session stops the process)',
    )
    .option(
      '--timeout <time>',
      'Maximum run time of the process, such as 10s, 5m or 1h30m (default: no limit)',
      milliseconds,
    )
    .option('--notify', 'Start a turn of the session when the process exits (requires --session)')
    .option('--wait', 'Wait until the process exits, and exit with the exit code of the process')
    .option(
      '--follow',
      'Attach to the process: show its output, send it typed input, and exit with its exit code',
    )
    .action(clientAction(world, run));
}

interface RunOptions {
  cwd?: string;
  session?: string;
  timeout?: number;
  notify?: boolean;
  wait?: boolean;
  follow?: boolean;
}

async function run(context: CommandContext, words: string[], options: RunOptions): Promise<void> {
  const { world, client, global, show } = context;
  const session_id =
    options.session === undefined ? undefined : await sessionId(client, options.session);
  const here = options.cwd ?? (session_id === undefined ? '.' : undefined);
  const follows = options.follow === true && !global.json;
  const passesInput = follows && mayReadInput(world.stdin);
  const { process } = await client.call(endpoints.createProcess, {
    body: {
      command: words.length === 1 ? (words[0] ?? '') : words.map(shellWord).join(' '),
      cwd: here === undefined ? undefined : path.resolve(world.cwd(), here),
      // The server's default is for agents, which forget what they started; 0 is no limit.
      timeout_ms: options.timeout ?? 0,
      session_id,
      stdin: passesInput ? 'pipe' : 'none',
      on_exit: options.notify ? 'notify' : undefined,
    },
  });
  if (process.timeout_ms > 0)
    world.stderr.write(
      `cadre: ${process.process_id} is stopped after ${durationText(process.timeout_ms)} if it is still running\n`,
    );
  if (!options.wait && !options.follow) return show(process, () => `${process.process_id}\n`);
  const signal = world.interrupted();
  const params = { process_id: process.process_id };
  signal.addEventListener('abort', () => {
    world.stderr.write('\ncadre: stopping the process\n');
    client
      .call(endpoints.killProcess, {
        params,
        body: { reason: 'a user interrupted the command at the terminal' },
      })
      .catch(() => undefined);
  });
  if (follows) {
    const over = new AbortController();
    const sent = passesInput
      ? sendInput(context, process.process_id, AbortSignal.any([over.signal, signal]))
      : undefined;
    await followOutput(context, process.process_id, signal);
    over.abort();
    await sent;
  }
  const ended = await untilEnded(client, process.process_id);
  if (global.json || !options.follow) show(ended, () => `${statusText(ended)}\n`);
  else if (ended.status !== 'completed') world.stderr.write(`cadre: ${statusText(ended)}\n`);
  world.exit(signal.aborted ? Number(signal.reason) : exitCodeOf(ended));
}

async function untilEnded(client: Client, id: string): Promise<Process> {
  for (;;) {
    const { process, matched } = await client.call(endpoints.waitForProcess, {
      params: { process_id: id },
      query: {},
    });
    if (matched) return process;
  }
}

function exitCodeOf({ status, exit_code, signal }: Process): number {
  if (status === 'timed_out') return exitCodes.timeout;
  if (exit_code !== null) return exit_code;
  if (signal !== null) return 128 + (os.constants.signals[signal as NodeJS.Signals] ?? 0);
  return exitCodes.failed;
}
