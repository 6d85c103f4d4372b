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
    .description('Let an editor use cadre as an agent (Agent Client Protocol)')
    .addOption(
      new Option(
        '--provider <provider>',
        'Provider of the agent in new sessions (default: defaults.provider in the configuration, or the only ready provider)',
      ).choices(providerId.options),
    )
    .option(
      '--agent <agent>',
      'Name of the agent for the provider acp, such as gemini (list the names with cadre providers discover)',
    )
    .option('--model <model>', 'Model of the agent in new sessions')
    .option('--effort <effort>', 'Reasoning effort of the model in new sessions')
    .option(
      '--permission-mode <mode>',
      'Permission mode of new sessions: which agent actions need your approval (default: from the configuration, or require_approval)',
    )
    .option(
      '--agent-mode <mode>',
      'Name of a mode that the agent itself defines, such as plan, for new sessions (only for the provider acp)',
    )
    .option('--session <session>', 'Existing session to use instead of a new session')
    .addHelpText(
      'after',
      '\nThe editor starts cadre acp, and exchanges messages with cadre acp on stdin and stdout. When the\neditor disconnects, the sessions stay open and the turns continue. If no server is running, cadre acp\nstarts one in the background. If neither --permission-mode nor the configuration sets a permission\nmode, the agent requests approval for actions, and the editor shows the requests.',
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
        connect: (mayStart) => world.connect(global, mayStart ? 'editor' : undefined),
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
