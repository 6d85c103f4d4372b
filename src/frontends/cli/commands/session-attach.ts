import type { Command } from 'commander';
import type { AttachOptions } from '../talk/attach.ts';
import { clientAction, type World } from '../world.ts';

/** `cadre sessions attach`. */
export function sessionAttach(sessions: Command, world: World): void {
  sessions
    .command('attach')
    .description('Follow a conversation and send prompts (Ctrl-C interrupts, Ctrl-D leaves)')
    .argument(
      '[session]',
      'Session id, its last 6 or more characters, or its title (default: latest session of this directory)',
    )
    .option('-v, --verbose', 'Show thoughts, plans and tool output as well')
    .option('--agent-mode <mode>', "The agent's own mode for turns sent from here")
    .action(
      clientAction(world, async (context, said: string | undefined, options: AttachOptions) =>
        (await import('../talk/attach.ts')).attach(context, said, options),
      ),
    );
}
