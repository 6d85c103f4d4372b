import type { Command } from 'commander';
import { endpoints } from '../../../api/index.ts';
import { AppError } from '../../../api/errors.ts';
import { sessionArgument, sessionId } from '../find.ts';
import { timesOf, type TimeOptions, withTimes } from '../queue-times.ts';
import { type FollowOptions, withFollowOptions } from '../talk/follow-options.ts';
import { followTurn } from '../talk/follow-turn.ts';
import { readInput, withPrompt } from '../talk/prompt.ts';
import { sendTurn } from '../talk/send.ts';
import { clientAction, type CommandContext, type World } from '../world.ts';
import type { InputItem } from '../../../api/input.ts';

/** `cadre sessions send`. */
export function sessionSend(sessions: Command, world: World): void {
  const command = withPrompt(sessions.command('send').argument(...sessionArgument))
    .description('Send a prompt to a session and stream the answer')
    .option('--no-wait', 'Do not wait until the turn ends')
    .option('--queue', 'Queue the prompt until the session is idle')
    .option('--expect <turn>', 'Fail unless the most recent turn of the session has this id')
    .option('--permission-mode <mode>', 'Permissions of the agent for this turn')
    .option(
      '--agent-mode <mode>',
      'Mode of the agent for this turn, by the name that the agent uses',
    )
    .option('--model <model>', 'Model for this turn')
    .option('--effort <effort>', 'Reasoning effort for this turn');
  withFollowOptions(withTimes(command)).action(
    async (said: string, words: string[], options: SendOptions, self: Command) => {
      const input = await readInput(words, options, world);
      await clientAction(world, (context) => send(context, said, input, options))(self);
    },
  );
}

interface SendOptions extends FollowOptions, TimeOptions {
  queue?: boolean;
  wait: boolean;
  expect?: string;
  permissionMode?: string;
  agentMode?: string;
  model?: string;
  effort?: string;
  image: string[];
}

async function send(
  context: CommandContext,
  said: string,
  input: InputItem[],
  options: SendOptions,
): Promise<void> {
  if (options.queue || options.at !== undefined || options.every !== undefined)
    return addToQueue(context, said, input, options);
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
      permission_mode: options.permissionMode,
      agent_mode: options.agentMode,
      model: options.model,
      thinking_effort: options.effort,
    },
  );
  if (options.wait) await followTurn(context, { ...accepted, after, mode }, options);
  else context.show(accepted, () => `${accepted.turn_id}\n`);
}

/** Queues the turn instead of sending it, and says when it is due. */
async function addToQueue(
  { client, world, show }: CommandContext,
  said: string,
  input: InputItem[],
  options: SendOptions,
): Promise<void> {
  if (options.expect !== undefined)
    throw new AppError('usage', '--expect cannot be combined with --queue, --at or --every');
  const { entryStateText } = await import('../queue-text.ts');
  const now = world.clock.now();
  const params = { session_id: await sessionId(client, said) };
  if (options.permissionMode !== undefined) {
    const session = await client.call(endpoints.getSession, { params });
    const { assertPermissionMode } = await import('../talk/assert-mode.ts');
    await assertPermissionMode({ client }, session, options.permissionMode);
  }
  const added = await client.call(endpoints.addToQueue, {
    params,
    body: {
      input,
      ...timesOf(options, now),
      name: options.name,
      reason: options.reason,
      overlap: options.overlap,
      permission_mode: options.permissionMode,
      agent_mode: options.agentMode,
      model: options.model,
      thinking_effort: options.effort,
    },
  });
  show(added, () => entryStateText(added, now));
}
