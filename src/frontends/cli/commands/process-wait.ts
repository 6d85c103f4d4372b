import type { Command } from 'commander';
import { endpoints } from '../../../api/index.ts';
import { AppError } from '../../../api/errors.ts';
import { exitCodes } from '../exit.ts';
import { processArgument, processId } from '../find.ts';
import { milliseconds } from '../milliseconds.ts';
import { statusText } from '../process-text.ts';
import { clientAction, type CommandContext, type World } from '../world.ts';

/** One request waits at most this long; the command repeats it. */
const MAX_WAIT_MS = 60_000;

/** `cadre processes wait`. */
export function processWait(processes: Command, world: World): void {
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
