import { endpoints } from '../../../api/index.ts';
import type { Process } from '../../../api/processes.ts';
import { commandGroup, endpointCommand } from '../endpoint-command.ts';
import { ago, details, labelOf, listOf, shortId } from '../output.ts';
import { limit, process, reason, sessionAs, valueOf } from '../parameters.ts';
import { durationText } from '../../terminal/time.ts';
import { statusText } from '../process-text.ts';
import { processRun } from './process-run.ts';
import { type Command, Option } from 'commander';
import { AppError } from '../../../api/errors.ts';
import { exitCodes } from '../exit.ts';
import { processArgument, processId } from '../find.ts';
import { milliseconds } from '../milliseconds.ts';
import { clientAction, type CommandContext, type World } from '../world.ts';
import type { Client } from '../../../client/client.ts';
import { choicesOf } from '../choices.ts';
import { count } from '../count.ts';
import { followOutput, type Output, outputs } from '../follow-output.ts';

/** `cadre processes …`. */
export const processCommands = commandGroup(
  'processes',
  'Run commands on the server, and show their output',
  [
    processRun,
    endpointCommand({
      name: 'list',
      alias: 'ps',
      description: 'List processes, newest first',
      endpoint: endpoints.listProcesses,
      options: [
        sessionAs('session_id', '--session <session>', 'Show only processes of this session'),
        valueOf('status', '-s, --status <status>', 'Show only processes with this status'),
        limit,
      ],
      empty: 'no processes: start a process with cadre processes run COMMAND',
      print: listOf<Process>(
        ['ID', 'STATUS', 'EXIT', 'AGE', 'RAN', 'SESSION', 'COMMAND'],
        (one, now) => [
          shortId(one.process_id),
          one.status,
          one.exit_code === null ? (one.signal ?? '-') : String(one.exit_code),
          ago(one.queued_at, now),
          one.started_at === null ? '-' : ago(one.started_at, one.ended_at ?? now),
          one.session_id === null ? '-' : shortId(one.session_id),
          one.command,
        ],
      ),
    }),
    endpointCommand({
      name: 'show',
      alias: 'get',
      description: 'Show the state of a process',
      endpoint: endpoints.getProcess,
      operands: [process],
      print: (process, shown) => details(withLimit(process), shown),
    }),
    processLogs,
    processWait,
    endpointCommand({
      name: 'stop',
      alias: 'kill',
      description: 'Stop a process and all its child processes',
      endpoint: endpoints.killProcess,
      operands: [process],
      options: [reason],
      confirm: (said) => `stop process "${said}" and its child processes?`,
      document: ({ process }) => process,
      print: ({ process }) =>
        process.ended_at === null
          ? `Stopping process ${labelOf(process.process_id, process.command)}\n`
          : `Process ${labelOf(process.process_id, process.command)} had already exited: ${statusText(process)}\n`,
    }),
    endpointCommand({
      name: 'restart',
      description: 'Stop a process, and run the command of the process again as a new process',
      endpoint: endpoints.restartProcess,
      operands: [process],
      document: ({ process }) => process,
      print: ({ process }) => `${process.process_id}\n`,
    }),
  ],
);

/** A process as people see it: with its time limit in words. */
function withLimit({ timeout_ms, ...process }: Process): object {
  return { ...process, time_limit: timeout_ms === 0 ? 'none' : durationText(timeout_ms) };
}

/** One request waits at most this long; the command repeats it. */
const MAX_WAIT_MS = 60_000;

/** `cadre processes wait`. */
function processWait(processes: Command, world: World): void {
  processes
    .command('wait')
    .description(
      'Wait until a process exits, a port accepts connections, or a text appears in the output',
    )
    .argument(...processArgument)
    .option(
      '--for <what>',
      'Condition to wait for: exit, port:N (port N accepts connections) or log:TEXT (TEXT is in the output)',
      'exit',
    )
    .option(
      '--timeout <time>',
      'Maximum wait time, such as 10s, 5m or 1h30m (default: no limit)',
      milliseconds,
    )
    .action(clientAction(world, wait));
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
      show(answer, () => `${statusText(answer.process)}\n`);
      if (!answer.matched) world.exit(exitCodes.failed);
      return;
    }
    if (world.clock.monotonic() >= until)
      throw new AppError(
        'timeout',
        `the condition "${options.for}" was not met within ${options.timeout} ms`,
      );
  }
}

const streams = choicesOf(endpoints.getProcessLogs.query.stream) ?? [];

const TAIL_LINES = 200;

/** `cadre processes logs`. */
function processLogs(processes: Command, world: World): void {
  processes
    .command('logs')
    .description('Show the last lines of the output of a process')
    .argument(...processArgument)
    .addOption(
      new Option('--stream <stream>', 'Output stream to show').choices(streams).default('both'),
    )
    .option(
      '--tail <lines>',
      `Number of last lines to show of each output stream (default: ${TAIL_LINES}, or all lines with --follow)`,
      count,
    )
    .option(
      '--max-bytes <bytes>',
      'Maximum number of bytes to show of each output stream',
      count,
      65_536,
    )
    .option('-f, --follow', 'Also show new output until the process exits')
    .action(clientAction(world, logs));
}

interface LogsOptions {
  stream: Output | 'both';
  tail?: number;
  maxBytes: number;
  follow?: boolean;
}

async function logs(context: CommandContext, end: string, options: LogsOptions): Promise<void> {
  const { world, client, show } = context;
  const id = await processId(client, end);
  if (options.follow) return follow(context, id, options);
  const found = await tailOf(client, id, options);
  show(found, () => found.stdout?.content ?? '');
  if (context.global.json) return;
  if (found.stderr) world.stderr.write(found.stderr.content);
  const cut = outputs.filter((one) => found[one]?.truncated);
  if (cut.length > 0)
    world.stderr.write(
      `cadre: only the end of ${cut.join(' and ')} is shown: show more with --tail and --max-bytes\n`,
    );
  const unverified = outputs.filter((one) => found[one]?.verified === false);
  if (unverified.length > 0 && (await hasEnded(client, id)))
    world.stderr.write(`cadre: ${unverified.join(' and ')} not verified: no checksums stored\n`);
}

async function hasEnded(client: Client, id: string): Promise<boolean> {
  const process = await client.call(endpoints.getProcess, { params: { process_id: id } });
  return process.ended_at !== null;
}

/** Shows the last lines, if their number is given, else all, and what comes. */
async function follow(context: CommandContext, id: string, options: LogsOptions): Promise<void> {
  const signal = context.world.interrupted();
  const tail = options.tail === undefined ? null : await tailOf(context.client, id, options);
  const wanted = outputs
    .filter((one) => options.stream === 'both' || options.stream === one)
    .map((one) => [one, tail?.[one]?.offset ?? 0]);
  await followOutput(context, id, signal, Object.fromEntries(wanted) as Record<Output, number>);
  if (signal.aborted) context.world.exit(Number(signal.reason));
}

function tailOf(client: Client, id: string, { stream, tail, maxBytes }: LogsOptions) {
  const query = { stream, tail_lines: tail ?? TAIL_LINES, max_bytes: maxBytes };
  return client.call(endpoints.getProcessLogs, { params: { process_id: id }, query });
}
