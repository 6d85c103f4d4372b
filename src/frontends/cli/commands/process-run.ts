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
    .description('run a command; it ends with the server, whatever becomes of this terminal')
    .argument('<command...>', 'a line of shell in quotes, or the words of a command after --')
    .option('--cwd <directory>', "where it runs (default: here, or the session's directory)")
    .option('--session <session>', 'whose it is: it ends with that session')
    .option(
      '--timeout <time>',
      'how long it may run: 10s, 5m, 1h30m (default: for ever)',
      milliseconds,
    )
    .option('--notify', 'tell the session of its end, as a turn')
    .option('--wait', 'wait for its end, and end as it ended')
    .option('--follow', 'show what it prints, pass on what is typed, and end as it ended')
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
      `cadre: ${process.process_id} is ended after ${durationText(process.timeout_ms)}, if it still runs then\n`,
    );
  if (!options.wait && !options.follow) return show(process, () => `${process.process_id}\n`);
  const signal = world.interrupted();
  const params = { process_id: process.process_id };
  signal.addEventListener('abort', () => {
    world.stderr.write('\ncadre: ending the process\n');
    client
      .call(endpoints.killProcess, { params, body: { reason: 'interrupted at the terminal' } })
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
