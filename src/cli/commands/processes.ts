import os from 'node:os';
import path from 'node:path';
import { type Command, Option } from 'commander';
import { endpoints } from '../../api/index.ts';
import type { Process } from '../../api/processes.ts';
import type { Client } from '../../client/client.ts';
import { streamLogs } from '../../client/log-stream.ts';
import { AppError } from '../../errors.ts';
import { exitCodes } from '../exit.ts';
import { processArgument, processId, sessionId } from '../find.ts';
import { ago, details, plain, shortId, table } from '../output.ts';
import { clientAction, type CommandContext, type World } from '../world.ts';

const streams = ['stdout', 'stderr'] as const;
/** One call waits so long at most. */
const MAX_WAIT_MS = 60_000;

interface RunOptions {
  cwd?: string;
  session?: string;
  timeout?: number;
  notify?: boolean;
  wait?: boolean;
  follow?: boolean;
}

/** `cadre processes …`. */
export function processCommands(program: Command, world: World): void {
  const processes = program
    .command('processes')
    .description('commands that the server runs and supervises');

  processes
    .command('run')
    .description('run a command; it ends with the server, whatever becomes of this terminal')
    .argument('<command...>', 'a line of shell in quotes, or the words of a command after --')
    .option('--cwd <directory>', "where it runs (default: here, or the session's directory)")
    .option('--session <session>', 'whose it is: it ends with that session')
    .option('--timeout <ms>', 'how long it may run; 0: for ever', milliseconds)
    .option('--notify', 'tell the session of its end, as a turn')
    .option('--wait', 'wait for its end, and end as it ended')
    .option('--follow', 'show what it prints until its end, and end as it ended')
    .action(clientAction(world, run));

  processes
    .command('list')
    .description('list processes, newest first')
    .option('--session <session>', 'only of this session')
    .addOption(
      new Option('--status <status>').choices([
        'queued',
        'running',
        'completed',
        'failed',
        'timed_out',
        'killed',
      ]),
    )
    .option('--limit <n>', 'how many at most', Number, 100)
    .action(
      clientAction(
        world,
        async (
          { client, show },
          options: { session?: string; status?: Process['status']; limit: number },
        ) => {
          const { status, limit, session } = options;
          const session_id = session === undefined ? undefined : await sessionId(client, session);
          const query = { status, limit, session_id };
          const found = await client.call(endpoints.listProcesses, { query });
          const now = world.clock.now();
          const rows = found.map((one) => [
            shortId(one.process_id),
            one.status,
            one.exit_code === null ? '-' : String(one.exit_code),
            ago(one.ended_at ?? one.started_at ?? one.queued_at, now),
            one.session_id === null ? '-' : shortId(one.session_id),
            one.command,
          ]);
          show(found, () => table(['ID', 'STATUS', 'EXIT', 'AGE', 'SESSION', 'COMMAND'], rows));
        },
      ),
    );

  processes
    .command('get')
    .description('show a process')
    .argument(...processArgument)
    .action(
      clientAction(world, async ({ client, show }, end: string) => {
        const params = { process_id: await processId(client, end) };
        const process = await client.call(endpoints.getProcess, { params });
        show(process, () => details(process));
      }),
    );

  processes
    .command('logs')
    .description('show the end of what a process printed')
    .argument(...processArgument)
    .addOption(
      new Option('--stream <stream>', 'which')
        .choices(['stdout', 'stderr', 'both'])
        .default('both'),
    )
    .option('--tail <lines>', 'how many lines of each stream', Number, 200)
    .option('--max-bytes <bytes>', 'how many bytes of each stream', Number, 65_536)
    .option('-f, --follow', 'show all of it, and what comes, until the process ends')
    .action(clientAction(world, logs));

  processes
    .command('wait')
    .description('wait for the end of a process, a port that answers, or a text in its output')
    .argument(...processArgument)
    .option('--for <what>', 'exit, port:N or log:TEXT', 'exit')
    .option('--timeout <ms>', 'how long at most (default: for ever)', milliseconds)
    .action(clientAction(world, wait));

  processes
    .command('kill')
    .description('end a process and all it started')
    .argument(...processArgument)
    .option('--reason <text>', 'why, for the record')
    .action(
      clientAction(
        world,
        async ({ client, show }, end: string, { reason }: { reason?: string }) => {
          const params = { process_id: await processId(client, end) };
          const { process } = await client.call(endpoints.killProcess, {
            params,
            body: { reason },
          });
          show(process, () =>
            process.ended_at === null
              ? `${process.process_id} is being ended\n`
              : `${process.process_id} had ended: ${saidOf(process)}\n`,
          );
        },
      ),
    );
}

async function run(context: CommandContext, words: string[], options: RunOptions): Promise<void> {
  const { world, client, global, show } = context;
  const session_id =
    options.session === undefined ? undefined : await sessionId(client, options.session);
  const here = options.cwd ?? (session_id === undefined ? '.' : undefined);
  const { process } = await client.call(endpoints.createProcess, {
    body: {
      command: words.length === 1 ? (words[0] ?? '') : words.map(quote).join(' '),
      cwd: here === undefined ? undefined : path.resolve(here),
      timeout_ms: options.timeout,
      session_id,
      on_exit: options.notify ? 'notify' : undefined,
    },
  });
  if (!options.wait && !options.follow) return show(process, () => `${process.process_id}\n`);
  const signal = world.interrupted();
  const params = { process_id: process.process_id };
  signal.addEventListener('abort', () => {
    world.stderr.write('\ncadre: ending the process\n');
    client
      .call(endpoints.killProcess, { params, body: { reason: 'interrupted at the terminal' } })
      .catch(() => undefined);
  });
  if (options.follow && !global.json) await followBoth(context, process.process_id);
  const ended = await untilEnded(client, process.process_id);
  if (global.json || !options.follow) show(ended, () => `${saidOf(ended)}\n`);
  else if (ended.status !== 'completed') world.stderr.write(`cadre: ${saidOf(ended)}\n`);
  world.exit(signal.aborted ? Number(signal.reason) : exitCodeOf(ended));
}

async function logs(
  context: CommandContext,
  end: string,
  options: {
    stream: 'stdout' | 'stderr' | 'both';
    tail: number;
    maxBytes: number;
    follow?: boolean;
  },
): Promise<void> {
  const { world, client, show } = context;
  const id = await processId(client, end);
  if (options.follow) {
    const wanted = streams.filter((one) => options.stream === 'both' || options.stream === one);
    return followBoth(context, id, wanted);
  }
  const query = { stream: options.stream, tail_lines: options.tail, max_bytes: options.maxBytes };
  const found = await client.call(endpoints.getProcessLogs, { params: { process_id: id }, query });
  show(found, () => found.stdout?.content ?? '');
  if (context.global.json) return;
  if (found.stderr) world.stderr.write(found.stderr.content);
  const cut = streams.filter((one) => found[one]?.truncated);
  if (cut.length > 0)
    world.stderr.write(
      `cadre: this is the end of ${cut.join(' and ')}; --tail and --max-bytes show more\n`,
    );
}

async function wait(
  { world, client, show }: CommandContext,
  end: string,
  options: { for: string; timeout?: number },
): Promise<void> {
  const params = { process_id: await processId(client, end) };
  const until = world.clock.monotonic() + (options.timeout ?? Number.POSITIVE_INFINITY);
  for (;;) {
    const left = Math.max(0, Math.ceil(until - world.clock.monotonic()));
    const query = { for: options.for, timeout_ms: Math.min(MAX_WAIT_MS, left) };
    const answer = await client.call(endpoints.waitForProcess, { params, query });
    const isOver = !['queued', 'running'].includes(answer.process.status);
    if (answer.matched || isOver) {
      show(answer, () => `${saidOf(answer.process)}\n`);
      if (!answer.matched) world.exit(exitCodes.failed);
      return;
    }
    if (world.clock.monotonic() >= until)
      throw new AppError('timeout', `${options.for} did not come within ${options.timeout} ms`);
  }
}

/** What a process prints on stdout and stderr, on ours, until it has ended or we are told to stop. */
async function followBoth(
  { world, client, global }: CommandContext,
  id: string,
  wanted: readonly ('stdout' | 'stderr')[] = streams,
): Promise<void> {
  const signal = world.interrupted();
  const show = async (stream: 'stdout' | 'stderr') => {
    const texts = streamLogs({ client, clock: world.clock, processId: id, stream, signal });
    for await (const text of texts)
      if (global.json) world.stdout.write(`${JSON.stringify({ stream, text })}\n`);
      else world[stream].write(world[stream].isTTY ? plain(text) : text);
  };
  await Promise.all(wanted.map(show));
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

/** How a process is, in words. */
function saidOf({ status, exit_code, signal, failure, kill_reason }: Process): string {
  const more = [
    exit_code === null ? null : `exit code ${exit_code}`,
    signal,
    failure && plain(failure.message),
    kill_reason && plain(kill_reason),
  ].filter(Boolean);
  return more.length > 0 ? `${status}: ${more.join(', ')}` : status;
}

/** A word as the shell reads it back. */
function quote(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}

function milliseconds(text: string): number {
  if (/^\d{1,10}$/.test(text)) return Number(text);
  throw new AppError('usage', `"${text}" is no number of milliseconds`);
}
