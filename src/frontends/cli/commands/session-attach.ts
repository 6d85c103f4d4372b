import type { Command } from 'commander';
import type { AttachOptions } from '../talk/attach.ts';
import { clientAction, type World } from '../world.ts';

/** `cadre sessions attach`. */
export function sessionAttach(sessions: Command, world: World): void {
  sessions
    .command('attach')
    .description('follow a conversation and talk: each line is sent, ^C interrupts, ^D leaves')
    .argument('[session]', 'its id or title (default: the latest of this directory)')
    .option('-v, --verbose', 'show thoughts, plans and the output of tools as well')
    .option('--agent-mode <mode>', "the agent's own mode for the turns that are sent from here")
    .action(
      clientAction(world, async (context, said: string | undefined, options: AttachOptions) =>
        (await import('../talk/attach.ts')).attach(context, said, options),
      ),
    );
}
