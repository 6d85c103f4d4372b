import type { Command } from 'commander';
import { addToQueue } from '../add-to-queue.ts';
import { sessionArgument } from '../find.ts';
import { type TimeOptions, withTimes } from '../queue-times.ts';
import { readInput, withPrompt } from '../talk/prompt.ts';
import { type TurnSettingOptions, withTurnSettings } from '../turn-settings.ts';
import { clientAction, type World } from '../world.ts';

type AddOptions = TimeOptions & TurnSettingOptions & { image: string[] };

/** `cadre queue add`: the same as `cadre sessions send --queue`. */
export function queueAdd(queue: Command, world: World): void {
  const command = withPrompt(queue.command('add').argument(...sessionArgument)).description(
    'Queue a prompt to send when the session is idle, or at a set time',
  );
  withTimes(withTurnSettings(command)).action(
    async (said: string, words: string[], options: AddOptions, self: Command) => {
      const input = await readInput(words, options, world);
      await clientAction(world, (context) => addToQueue(context, said, input, options))(self);
    },
  );
}
