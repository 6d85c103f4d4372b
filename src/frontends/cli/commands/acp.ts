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
    .description('be an agent for an editor that speaks ACP, on stdin and stdout')
    .addOption(
      new Option(
        '--provider <provider>',
        'whose agent new sessions get (default: [defaults], else the only one that is ready)',
      ).choices(providerId.options),
    )
    .option('--agent <agent>', 'an agent of acp by its name; see cadre providers discover')
    .option('--model <model>', 'a model of the provider, for new sessions')
    .option('--effort <effort>', 'how long the model thinks, in new sessions')
    .option(
      '--permission-mode <mode>',
      'what the agent may do in new sessions (default: [defaults], else require_approval: it asks in the editor)',
    )
    .option(
      '--agent-mode <mode>',
      "the agent's own mode in new sessions, by its own name; for agents of acp",
    )
    .option('--session <session>', 'give the editor this session instead of a new one')
    .addHelpText(
      'after',
      '\nSessions stay when the editor leaves, and turns go on. The server has to run: cadre serve.',
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
  async function opening(client: Client, cwd: string, options: AcpOptions) {
    const context = { world, client, global: { json: true } };
    const body = await openBody(context, { ...options, cwd });
    return { ...body, permission_mode: body.permission_mode ?? 'require_approval' };
  }
}
