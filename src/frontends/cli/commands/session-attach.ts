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
      'Session: id, last 6 or more characters of the id, or title (default: latest session of this directory)',
    )
    .option('-v, --verbose', 'Show thoughts, plans and tool output as well')
    .option('--permission-mode <mode>', 'Permissions of the agent for turns sent from this command')
    .option(
      '--agent-mode <mode>',
      'Mode of the agent for turns sent from this command, by the name that the agent uses',
    )
    .action(
      clientAction(world, async (context, said: string | undefined, options: AttachOptions) =>
        (await import('../talk/attach.ts')).attach(context, said, options),
      ),
    );
}
