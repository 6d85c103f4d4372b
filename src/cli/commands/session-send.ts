import path from 'node:path';
import type { Command } from 'commander';
import { endpoints } from '../../api/index.ts';
import { sessionArgument, sessionId } from '../find.ts';
import { followTurn } from '../follow-turn.ts';
import { readPrompt } from '../prompt.ts';
import { clientAction, type CommandContext, type World } from '../world.ts';

/** `cadre sessions send`. */
export function sessionSend(sessions: Command, world: World): void {
  sessions
    .command('send')
    .description('send a turn and stream what comes of it')
    .argument(...sessionArgument)
    .argument('<text>', 'what to say; - reads it from stdin')
    .option('--no-wait', 'do not wait for the turn to end')
    .option('--expect <turn>', 'refuse unless this is the most recent turn')
    .option('--permission-mode <mode>', 'for this turn only')
    .option('--model <model>', 'for this turn only')
    .option('--image <file...>', 'an image to show the agent')
    .action(clientAction(world, send));
}

interface SendOptions {
  wait: boolean;
  expect?: string;
  permissionMode?: string;
  model?: string;
  image?: string[];
}

async function send(
  { world, client, global, show }: CommandContext,
  id: string,
  text: string,
  options: SendOptions,
): Promise<void> {
  const params = { session_id: await sessionId(client, id) };
  const body = {
    input: [
      { type: 'text' as const, text: await readPrompt(text, world.stdin) },
      ...(options.image ?? []).map(imageInput),
    ],
    expected_turn_id: options.expect,
    permission_mode: options.permissionMode,
    model: options.model,
  };
  const accepted = await client.call(endpoints.sendTurn, { params, body });
  if (options.wait) await followTurn(world, global, client, accepted);
  else show(accepted, () => `${accepted.turn_id}\n`);
}

/** An image by its absolute path, because the server reads the file and works in another directory. */
function imageInput(file: string): { type: 'image'; path: string } {
  return { type: 'image', path: path.resolve(file) };
}
