import type { Command } from 'commander';
import { endpoints } from '../../../api/index.ts';
import { AppError } from '../../../api/errors.ts';
import { entryArgument, entryId } from '../find.ts';
import { entryStateText } from '../queue-text.ts';
import { timesOf, type TimeOptions, withTimes } from '../queue-times.ts';
import { clientAction, type CommandContext, type World } from '../world.ts';

/** `cadre queue edit`. */
export function queueEdit(queue: Command, world: World): void {
  withTimes(
    queue
      .command('edit')
      .description('Change the text, due time or name of a queue entry')
      .argument(...entryArgument)
      .argument('[text...]', 'New text of the queued prompt'),
  )
    .option(
      '--now',
      'Remove the due time, so that the prompt is sent as soon as the session is idle',
    )
    .option('--model <model>', 'Model for the turns that the queue entry starts')
    .action(clientAction(world, edit));
}

interface EditOptions extends TimeOptions {
  now?: boolean;
  model?: string;
}

async function edit(
  { client, show, world }: CommandContext,
  said: string,
  words: readonly string[],
  options: EditOptions,
): Promise<void> {
  const now = world.clock.now();
  const { now: isNow, name, reason, overlap, model } = options;
  if (isNow && (options.at !== undefined || options.every !== undefined))
    throw new AppError('usage', 'pass only one of --now, --at and --every');
  const text = words.join(' ');
  if (text === '' && Object.keys(options).length === 0)
    throw new AppError(
      'usage',
      'there is nothing to change: pass a text, or an option such as --at',
    );
  const body = {
    ...(text === '' ? {} : { input: { type: 'text' as const, text } }),
    ...(isNow ? { at: null, every: null } : timesOf(options, now)),
    name,
    reason,
    overlap,
    model,
  };
  const params = { entry_id: await entryId(client, said) };
  const edited = await client.call(endpoints.editQueueEntry, { params, body });
  show(edited, () => entryStateText(edited, now));
}
