import { type Command, Option } from 'commander';
import { endpoints } from '../../api/index.ts';
import { choicesOf } from '../choices.ts';
import { count } from '../count.ts';
import { processArgument, processId } from '../find.ts';
import { followOutput, type Output, outputs } from '../follow-output.ts';
import { clientAction, type CommandContext, type World } from '../world.ts';

const { stream } = endpoints.getProcessLogs.query;

/** `cadre processes logs`. */
export function processLogs(processes: Command, world: World): void {
  processes
    .command('logs')
    .description('show the end of what a process printed')
    .argument(...processArgument)
    .addOption(
      new Option('--stream <stream>', 'which').choices(choicesOf(stream) ?? []).default('both'),
    )
    .option('--tail <lines>', 'how many lines of each stream', count, 200)
    .option('--max-bytes <bytes>', 'how many bytes of each stream', count, 65_536)
    .option('-f, --follow', 'show all of it, and what comes, until the process ends')
    .action(clientAction(world, logs));
}

async function logs(
  context: CommandContext,
  end: string,
  options: {
    stream: Output | 'both';
    tail: number;
    maxBytes: number;
    follow?: boolean;
  },
): Promise<void> {
  const { world, client, show } = context;
  const id = await processId(client, end);
  if (options.follow) {
    const wanted = outputs.filter((one) => options.stream === 'both' || options.stream === one);
    return followOutput(context, id, wanted);
  }
  const query = { stream: options.stream, tail_lines: options.tail, max_bytes: options.maxBytes };
  const found = await client.call(endpoints.getProcessLogs, { params: { process_id: id }, query });
  show(found, () => found.stdout?.content ?? '');
  if (context.global.json) return;
  if (found.stderr) world.stderr.write(found.stderr.content);
  const cut = outputs.filter((one) => found[one]?.truncated);
  if (cut.length > 0)
    world.stderr.write(
      `cadre: this is the end of ${cut.join(' and ')}; --tail and --max-bytes show more\n`,
    );
}
