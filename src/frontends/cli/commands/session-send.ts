import type { Command } from 'commander';
import { AppError } from '../../../api/errors.ts';
import { sessionArgument, sessionId } from '../find.ts';
import { addToQueue } from '../add-to-queue.ts';
import { type TimeOptions, withTimes } from '../queue-times.ts';
import { type FollowOptions, withFollowOptions } from '../talk/follow-options.ts';
import { followTurn } from '../talk/follow-turn.ts';
import { readInput, withPrompt } from '../talk/prompt.ts';
import { sendTurn } from '../talk/send.ts';
import { type TurnSettingOptions, turnSettings, withTurnSettings } from '../turn-settings.ts';
import { clientAction, type CommandContext, type World } from '../world.ts';
import type { InputItem } from '../../../api/input.ts';

/** `cadre sessions send`. */
export function sessionSend(sessions: Command, world: World): void {
  const command = withPrompt(sessions.command('send').argument(...sessionArgument))
    .description('Send a prompt to a session and stream the answer')
    .option('--no-wait', 'Exit without waiting until the turn ends')
    .option('--queue', 'Queue the prompt, and send the prompt when the session is idle')
    .option('--expect <turn>', 'Send only if the most recent turn of the session has this id');
  withFollowOptions(withTimes(withTurnSettings(command))).action(
    async (said: string, words: string[], options: SendOptions, self: Command) => {
      const input = await readInput(words, options, world);
      await clientAction(world, (context) => send(context, said, input, options))(self);
    },
  );
}

interface SendOptions extends FollowOptions, TimeOptions, TurnSettingOptions {
  queue?: boolean;
  wait: boolean;
  expect?: string;
  image: string[];
}

async function send(
  context: CommandContext,
  said: string,
  input: InputItem[],
  options: SendOptions,
): Promise<void> {
  if (options.queue || options.at !== undefined || options.every !== undefined) {
    if (options.expect !== undefined)
      throw new AppError('usage', '--expect cannot be combined with --queue, --at or --every');
    return addToQueue(context, said, input, options);
  }
  const extra = (['zone', 'name', 'reason', 'overlap'] as const).find(
    (one) => options[one] !== undefined,
  );
  if (extra) throw new AppError('usage', `--${extra} requires --queue, --at or --every`);
  const { after, mode, ...accepted } = await sendTurn(
    context,
    await sessionId(context.client, said),
    {
      input,
      expected_turn_id: options.expect,
      ...turnSettings(options),
    },
  );
  if (options.wait) await followTurn(context, { ...accepted, after, mode }, options);
  else context.show(accepted, () => `${accepted.turn_id}\n`);
}
