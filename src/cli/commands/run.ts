import type { Command } from 'commander';
import { endpoints } from '../../api/index.ts';
import { followTurn } from '../follow-turn.ts';
import { type OpenOptions, openBody, withOpenOptions } from '../open-session.ts';
import { readPrompt } from '../prompt.ts';
import { clientAction, type World } from '../world.ts';

/** `cadre run "text"`: opens a session, sends one turn and streams it. */
export function runCommand(program: Command, world: World): void {
  withOpenOptions(program.command('run'))
    .description('open a session, send one turn, stream what comes of it')
    .argument('<text>', 'what to say; - reads it from stdin')
    .action(
      clientAction(world, async ({ client, global }, text: string, options: OpenOptions) => {
        const input = [{ type: 'text' as const, text: await readPrompt(text, world.stdin) }];
        const { id } = await client.call(endpoints.createSession, { body: openBody(options) });
        const accepted = await client.call(endpoints.sendTurn, {
          params: { session_id: id },
          body: { input },
        });
        await followTurn(world, global, client, accepted);
      }),
    );
}
