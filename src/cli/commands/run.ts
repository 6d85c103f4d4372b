import type { Command } from 'commander';
import { endpoints } from '../../api/index.ts';
import type { GlobalOptions } from '../context.ts';
import { followTurn } from '../follow-turn.ts';
import { readPrompt } from '../prompt.ts';
import type { World } from '../world.ts';
import { type OpenOptions, openBody, withOpenOptions } from './sessions.ts';

/** `cadre run "text"`: one session, one turn, streamed to the terminal. */
export function runCommand(program: Command, world: World): void {
  withOpenOptions(program.command('run'))
    .description('open a session, send one turn, stream what comes of it')
    .argument('<text>', 'what to say; - reads it from stdin')
    .action(async (text: string, options: OpenOptions, command: Command) => {
      const global = command.optsWithGlobals<GlobalOptions>();
      const input = [{ type: 'text' as const, text: await readPrompt(text, world.stdin) }];
      const client = await world.connect(global);
      const { id } = await client.call(endpoints.createSession, { body: openBody(options) });
      const accepted = await client.call(endpoints.sendTurn, {
        params: { session_id: id },
        body: { input },
      });
      await followTurn(world, global, client, accepted);
      client.close();
    });
}
