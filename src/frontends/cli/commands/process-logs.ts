import { type Command, Option } from 'commander';
import { endpoints } from '../../../api/index.ts';
import type { Client } from '../../../client/client.ts';
import { choicesOf } from '../choices.ts';
import { count } from '../count.ts';
import { processArgument, processId } from '../find.ts';
import { followOutput, type Output, outputs } from '../follow-output.ts';
import { clientAction, type CommandContext, type World } from '../world.ts';

const streams = choicesOf(endpoints.getProcessLogs.query.stream) ?? [];

const TAIL_LINES = 200;

/** `cadre processes logs`. */
export function processLogs(processes: Command, world: World): void {
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
