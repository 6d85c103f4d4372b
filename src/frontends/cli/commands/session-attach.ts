import type { Command } from 'commander';
import type { AttachOptions } from '../talk/attach.ts';
import { clientAction, type World } from '../world.ts';

/** `cadre sessions attach`. */
export function sessionAttach(sessions: Command, world: World): void {
  sessions
    .command('attach')
    .description(
      'Follow the conversation of a session and send prompts (Ctrl-C interrupts the turn, Ctrl-D exits)',
    )
    .argument(
      '[session]',
      'Id of the session, the last 6 or more characters of the id, or the title (default: latest session of the current directory)',
    )
    .option('-v, --verbose', 'Also show the thoughts, plans and tool output of the agent')
    .option(
      '--permission-mode <mode>',
      'Permission mode for turns that you send: which agent actions need your approval',
    )
    .option(
      '--agent-mode <mode>',
      'Name of a mode that the agent itself defines, such as plan, for turns that you send',
    )
    .action(
      clientAction(world, async (context, said: string | undefined, options: AttachOptions) =>
        (await import('../talk/attach.ts')).attach(context, said, options),
      ),
    );
}
