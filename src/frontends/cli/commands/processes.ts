import { endpoints } from '../../../api/index.ts';
import type { Process } from '../../../api/processes.ts';
import { clientCommand, commandGroup } from '../command.ts';
import { endpointCommand } from '../endpoint-command.ts';
import { ago, details, labelOf, listOf, shortId } from '../output.ts';
import { limit, process, reason, sessionAs } from '../parameters.ts';
import { durationText } from '../../terminal/time.ts';
import {
  followOutput,
  type Output,
  outputs,
  textForStream,
  statusText,
} from '../process-output.ts';
import { processRun } from './process-run.ts';
import { AppError } from '../../../api/errors.ts';
import { exitCodes } from '../exit.ts';
import { processArgument, processId } from '../find.ts';
import { count, milliseconds } from '../option-values.ts';
import type { CommandContext } from '../command-io.ts';
import type { Client } from '../../../client/client.ts';
import { choicesOf } from '../choices.ts';

const TAIL_LINES = 200;

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
      parameters: [
        sessionAs('session_id', '--session <session>  Show only processes of this session'),
        '-s, --status <status>  Show only processes with this status',
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
      parameters: [process],
      print: (process, shown) => details(withLimit(process), shown),
    }),
    clientCommand({
      name: 'logs',
      description: 'Show the last lines of the output of a process',
      parameters: [
        processArgument,
        {
          line: '--stream <stream>  Output stream to show',
          choices: choicesOf(endpoints.getProcessLogs.query.stream),
          default: 'both',
        },
        {
          line: `--tail <lines>  Number of last lines to show of each output stream (default: ${TAIL_LINES}, or all lines with --follow)`,
          parse: count,
        },
        {
          line: '--max-bytes <bytes>  Maximum number of bytes to show of each output stream',
          parse: count,
          default: 65_536,
        },
        '-f, --follow  Also show new output until the process exits',
      ],
      async run(context, end: string, options: LogsOptions) {
        const { io, client, show } = context;
        const id = await processId(client, end);
        if (options.follow) return follow(context, id, options);
        const found = await tailOf(client, id, options);
        show(found, () => textForStream(io.stdout, found.stdout?.content ?? ''));
        if (context.global.json) return;
        if (found.stderr) io.stderr.write(textForStream(io.stderr, found.stderr.content));
        const cut = outputs.filter((one) => found[one]?.truncated);
        if (cut.length > 0)
          io.stderr.write(
            `cadre: only the end of ${cut.join(' and ')} is shown: show more with --tail and --max-bytes\n`,
          );
        const unverified = outputs.filter((one) => found[one]?.verified === false);
        if (unverified.length > 0 && (await hasEnded(client, id)))
          io.stderr.write(`cadre: ${unverified.join(' and ')} not verified: no checksums stored\n`);
      },
    }),
    clientCommand({
      name: 'wait',
      description:
        'Wait until a process exits, a port accepts connections, or a text appears in the output',
      parameters: [
        processArgument,
        {
          line: '--for <what>  Condition to wait for: exit, port:N (port N accepts connections) or log:TEXT (TEXT is in the output)',
          default: 'exit',
        },
        {
          line: '--timeout <time>  Maximum wait time, such as 10s, 5m or 1h30m (default: no limit)',
          parse: milliseconds,
        },
      ],
      async run({ io, client, show }, end: string, options: { for: string; timeout?: number }) {
        const params = { process_id: await processId(client, end) };
        const until = io.clock.monotonic() + (options.timeout ?? Number.POSITIVE_INFINITY);
        for (;;) {
          const left = Math.max(0, Math.ceil(until - io.clock.monotonic()));
          const query = { for: options.for, timeout_ms: Math.min(MAX_WAIT_MS, left) };
          const answer = await client.call(endpoints.waitForProcess, { params, query });
          const isOver = !['queued', 'running'].includes(answer.process.status);
          if (answer.matched || isOver) {
            show(answer, () => `${statusText(answer.process)}\n`);
            if (!answer.matched) io.exit(exitCodes.failed);
            return;
          }
          if (io.clock.monotonic() >= until)
            throw new AppError(
              'timeout',
              `the condition "${options.for}" was not met within ${durationText(options.timeout ?? 0)}`,
            );
        }
      },
    }),
    endpointCommand({
      name: 'stop',
      alias: 'kill',
      description: 'Stop a process and all its child processes',
      endpoint: endpoints.killProcess,
      parameters: [process, reason],
      confirm: (reference) => `stop process "${reference}" and its child processes?`,
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
      parameters: [process],
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

interface LogsOptions {
  stream: Output | 'both';
  tail?: number;
  maxBytes: number;
  follow?: boolean;
}

async function hasEnded(client: Client, id: string): Promise<boolean> {
  const process = await client.call(endpoints.getProcess, { params: { process_id: id } });
  return process.ended_at !== null;
}

/** Shows the last lines, if their number is given, else all, and what comes. */
async function follow(context: CommandContext, id: string, options: LogsOptions): Promise<void> {
  const signal = context.io.interrupted();
  const tail = options.tail === undefined ? null : await tailOf(context.client, id, options);
  const wanted = outputs
    .filter((one) => options.stream === 'both' || options.stream === one)
    .map((one) => [one, tail?.[one]?.offset ?? 0]);
  await followOutput(context, id, signal, Object.fromEntries(wanted) as Record<Output, number>);
  if (signal.aborted) context.io.exit(Number(signal.reason));
}

function tailOf(client: Client, id: string, { stream, tail, maxBytes }: LogsOptions) {
  const query = { stream, tail_lines: tail ?? TAIL_LINES, max_bytes: maxBytes };
  return client.call(endpoints.getProcessLogs, { params: { process_id: id }, query });
}
