import { type Command, Option } from 'commander';
import type { Client } from '../../../client/client.ts';
import { providerId } from '../../../api/provider-kinds.ts';
import { version } from '../../../core/lib/self.ts';
import type { GlobalOptions } from '../context.ts';
import { sessionId } from '../find.ts';
import { type OpenOptions, openBody } from '../talk/open-session.ts';
import type { World } from '../world.ts';

interface AcpOptions extends Pick<
  OpenOptions,
  'provider' | 'agent' | 'model' | 'effort' | 'permissionMode' | 'agentMode'
> {
  session?: string;
}

/** `cadre acp`: cadre as an agent of an editor. */
export function acpCommand(program: Command, world: World): void {
  program
    .command('acp')
    .description('Run as an agent of an editor (Agent Client Protocol)')
    .addOption(
      new Option(
        '--provider <provider>',
        'Provider for new sessions (default: section [defaults], else the only provider that is ready)',
      ).choices(providerId.options),
    )
    .option('--agent <agent>', 'Agent of the acp provider, by name; see cadre providers discover')
    .option('--model <model>', 'Model for new sessions')
    .option('--effort <effort>', 'Reasoning effort of the model in new sessions')
    .option(
      '--permission-mode <mode>',
      'Permissions of the agent in new sessions (default: section [defaults], else require_approval: the editor shows approval requests)',
    )
    .option(
      '--agent-mode <mode>',
      "The agent's own mode in new sessions, by the name the agent uses; only for acp agents",
    )
    .option('--session <session>', 'Use this session instead of a new session')
    .addHelpText(
      'after',
      '\nThe editor starts this command and talks to it on stdin and stdout. When the editor\ndisconnects, sessions stay open and their turns continue. A server must be running: cadre serve.',
    )
    .action(async (options: AcpOptions, self: Command) => {
      const global = self.optsWithGlobals<GlobalOptions>();
      const { serveEditor } = await import('../../editor/index.ts');
      const { session } = options;
      const signal = world.interrupted();
      await serveEditor({
        stdin: process.stdin,
        stdout: process.stdout,
        signal,
        clock: world.clock,
        version,
        connect: () => world.connect(global),
        opening: (client, cwd) => opening(client, cwd, options),
        fixed: session === undefined ? null : (client) => sessionId(client, session),
      });
      if (signal.aborted) world.exit(Number(signal.reason));
    });

  /** Like a session of `run`, but nobody can be asked on a terminal, and the editor asks for permissions. */
  function opening(client: Client, cwd: string, options: AcpOptions) {
    const context = { world, client, global: { json: true } };
    return openBody(context, { ...options, cwd }, true);
  }
}
