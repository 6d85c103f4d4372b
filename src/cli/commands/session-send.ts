import type { Command } from 'commander';
import type { InputItem } from '../../api/sessions.ts';
import { sessionArgument, sessionId } from '../find.ts';
import { type FollowOptions, withFollowOptions } from '../talk/follow-options.ts';
import { followTurn } from '../talk/follow-turn.ts';
import { readInput, withPrompt } from '../talk/prompt.ts';
import { sendTurn } from '../talk/send.ts';
import { clientAction, type CommandContext, type World } from '../world.ts';

/** `cadre sessions send`. */
export function sessionSend(sessions: Command, world: World): void {
  const command = withPrompt(sessions.command('send').argument(...sessionArgument))
    .description('send a turn and stream what comes of it')
    .option('--no-wait', 'do not wait for the turn to end')
    .option('--expect <turn>', 'refuse unless this is the most recent turn')
    .option('--permission-mode <mode>', 'for this turn only')
    .option('--agent-mode <mode>', "for this turn only: the agent's own mode")
    .option('--model <model>', 'for this turn only')
    .option('--effort <effort>', 'for this turn only');
  withFollowOptions(command).action(
    async (said: string, words: string[], options: SendOptions, self: Command) => {
      const input = await readInput(words, options, world);
      await clientAction(world, (context) => send(context, said, input, options))(self);
    },
  );
}

interface SendOptions extends FollowOptions {
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
  const { after, ...accepted } = await sendTurn(context, await sessionId(context.client, said), {
    input,
    expected_turn_id: options.expect,
    permission_mode: options.permissionMode,
    agent_mode: options.agentMode,
    model: options.model,
    thinking_effort: options.effort,
  });
  if (options.wait) await followTurn(context, { ...accepted, after }, options);
  else context.show(accepted, () => `${accepted.turn_id}\n`);
}
