import os from 'node:os';
import path from 'node:path';
import { endpoints } from '../../../api/index.ts';
import type { Process } from '../../../api/processes.ts';
import { shellWord } from '../../../core/lib/shell-word.ts';
import { clientCommand } from '../command.ts';
import { exitCodes } from '../exit.ts';
import { sessionId } from '../find.ts';
import { followOutput, statusText } from '../process-output.ts';
import { count, milliseconds } from '../option-values.ts';
import { durationText } from '../../terminal/time.ts';
import type { CommandContext } from '../command-io.ts';
import { on } from 'node:events';
import { isInForeground } from '../../../core/children/identity.ts';
import { AppError, isUnreachable } from '../../../api/errors.ts';

export const processRun = clientCommand({
  name: 'run',
  description:
    'Run a command on the server (the command continues after this terminal closes, and stops with the server unless --outlive is set)',
  parameters: [
    '<command...>  Command to run: a shell command line in quotes, or a program and its arguments after --',
    '--cwd <directory>  Working directory of the process (default: current directory, or with --session the directory of the session)',
    '--session <session>  Session that owns the process (closing the session stops the process)',
    {
      line: '--timeout <time>  Maximum run time of the process, such as 10s, 5m or 1h30m (default: no limit)',
      parse: milliseconds,
    },
    {
      line: '--port <port>  Port of a process in a sandbox that programs outside reach at 127.0.0.1 (repeat the option for several ports)',
      parse: (text: string, before: readonly number[] = []) => [...before, count(text)],
    },
    '--outlive  Continue the process if the server crashes or is replaced (requires server.reattach_ms)',
    '--notify  Start a turn of the session when the process exits (requires --session)',
    '--wait  Wait until the process exits, and exit with the exit code of the process',
    '--follow  Attach to the process: show its output, send it typed input, and exit with its exit code',
  ],
  run,
});

interface RunOptions {
  cwd?: string;
  session?: string;
  timeout?: number;
  port?: number[];
  outlive?: boolean;
  notify?: boolean;
  wait?: boolean;
  follow?: boolean;
}

async function run(context: CommandContext, words: string[], options: RunOptions): Promise<void> {
  const { io, client, global, show } = context;
  const session_id =
    options.session === undefined ? undefined : await sessionId(client, options.session);
  const here = options.cwd ?? (session_id === undefined ? '.' : undefined);
  const follows = options.follow === true && !global.json;
  const passesInput = follows && !options.outlive && mayReadInput(io.stdin);
  const { process } = await client.call(endpoints.createProcess, {
    body: {
      command: words.length === 1 ? (words[0] ?? '') : words.map(shellWord).join(' '),
      cwd: here === undefined ? undefined : path.resolve(io.cwd(), here),
      // The server has a default limit for agents, which forget their processes; 0 sets no limit.
      timeout_ms: options.timeout ?? 0,
      session_id,
      stdin: passesInput ? 'pipe' : 'none',
      outlive: options.outlive,
      ports: options.port,
      on_exit: options.notify ? 'notify' : undefined,
    },
  });
  if (process.timeout_ms > 0)
    io.stderr.write(
      `cadre: ${process.process_id} is stopped after ${durationText(process.timeout_ms)} if it is still running\n`,
    );
  if (!options.wait && !options.follow) return show(process, () => `${process.process_id}\n`);
  const signal = io.interrupted();
  const { process_id } = process;
  io.unread?.(`${process_id} continues: stop it with cadre processes stop ${process_id}`);
  const params = { process_id };
  signal.addEventListener('abort', () => {
    io.stderr.write('\ncadre: stopping the process\n');
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
  const ended = await untilEnded(context, process);
  if (global.json || !options.follow) show(ended, () => `${statusText(ended)}\n`);
  else if (ended.status !== 'completed') io.stderr.write(`cadre: ${statusText(ended)}\n`);
  io.exit(signal.aborted ? Number(signal.reason) : exitCodeOf(ended));
}

/** The delay before a server is asked again that does not answer. */
const RETRY_MS = 500;

/** Waits for the end of a process. A process that outlives its server waits for the next one. */
async function untilEnded(
  { client, io }: CommandContext,
  { process_id, outlive }: Process,
): Promise<Process> {
  for (;;) {
    try {
      const params = { process_id };
      const { process, matched } = await client.call(endpoints.waitForProcess, {
        params,
        query: {},
      });
      if (matched) return process;
    } catch (error) {
      if (!outlive || !isUnreachable(error)) throw error;
      await io.clock.sleep(RETRY_MS);
    }
  }
}

function exitCodeOf({ status, exit_code, signal }: Process): number {
  if (status === 'timed_out') return exitCodes.timeout;
  if (exit_code !== null) return exit_code;
  if (signal !== null) return 128 + (os.constants.signals[signal as NodeJS.Signals] ?? 0);
  return exitCodes.failed;
}

/** How much one request sends, in bytes: as base64 it is within what the endpoint takes. */
const PART_BYTES = 64 * 1024;

/**
 * Sends what this command reads on stdin to a process, until its end, which is sent too, or until `over` aborts. It is
 * read no faster than the process reads it.
 */
async function sendInput(
  { io: { stdin }, client }: CommandContext,
  process_id: string,
  over: AbortSignal,
): Promise<void> {
  const send = (body: { data?: string; encoding?: 'base64'; eof?: boolean }) =>
    client.call(endpoints.writeToProcess, { params: { process_id }, body });
  const limits = { signal: over, close: ['end'], highWaterMark: 1, lowWaterMark: 1 };
  try {
    for await (const [chunk] of on(stdin as NodeJS.ReadStream, 'data', limits) as AsyncIterable<
      [Buffer | string]
    >) {
      const bytes = Buffer.from(chunk);
      for (let at = 0; at < bytes.length; at += PART_BYTES)
        await send({
          data: bytes.toString('base64', at, at + PART_BYTES),
          encoding: 'base64',
        });
    }
    await send({ eof: true });
  } catch (error) {
    // The process has ended, reads no more or is out of reach: the reader of its output reports that.
    if (!over.aborted && !(error instanceof AppError)) throw error;
  } finally {
    stdin.pause();
  }
}

/**
 * Whether this command may read its stdin: not where that is a terminal whose foreground is another job, because the
 * system would stop the command.
 */
function mayReadInput(stdin: { isTTY?: boolean }): boolean {
  return !stdin.isTTY || isInForeground();
}
