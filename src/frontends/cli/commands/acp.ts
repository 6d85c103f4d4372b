import { providerId } from '../../../api/provider-kinds.ts';
import { version } from '../../../core/lib/self.ts';
import { localCommand } from '../command.ts';
import { sessionId } from '../find.ts';
import { agentOption } from '../parameters.ts';
import { type OpenOptions, openBody } from '../session/open-session.ts';

interface AcpOptions extends Pick<
  OpenOptions,
  'provider' | 'agent' | 'model' | 'effort' | 'permissionMode' | 'agentMode'
> {
  session?: string;
}

export const acpCommand = localCommand({
  name: 'acp',
  description: 'Let an editor use cadre as an agent (Agent Client Protocol)',
  parameters: [
    {
      line: '--provider <provider>  Provider of the agent in new sessions (default: defaults.provider in the configuration, or the only ready provider)',
      choices: providerId.options,
    },
    agentOption,
    '--model <model>  Model of the agent in new sessions',
    '--effort <effort>  Reasoning effort of the model in new sessions',
    '--permission-mode <mode>  Permission mode of new sessions: which agent actions need your approval (default: from the configuration, or require_approval)',
    '--agent-mode <mode>  Name of a mode that the agent itself defines, such as plan, for new sessions (only for the provider acp)',
    '--session <session>  Existing session to use instead of a new session',
  ],
  help: '\nThe editor starts cadre acp, and exchanges messages with cadre acp on stdin and stdout. When the\neditor disconnects, the sessions stay open and the turns continue. If no server is running, cadre acp\nstarts one in the background. If neither --permission-mode nor the configuration sets a permission\nmode, the agent requests approval for actions, and the editor shows the requests.',
  async run({ io, global }, options: AcpOptions) {
    const { serveEditor } = await import('../../editor/index.ts');
    const { session } = options;
    const signal = io.interrupted();
    await serveEditor({
      stdin: process.stdin,
      stdout: process.stdout,
      signal,
      clock: io.clock,
      version,
      connect: (mayStart) => io.connect(global, mayStart ? 'editor' : undefined),
      // Like a session of `run`, but nobody can be asked on a terminal, and the editor asks for permissions.
      opening: (client, cwd) =>
        openBody({ io, client, global: { json: true } }, { ...options, cwd }, true),
      fixed: session === undefined ? null : (client) => sessionId(client, session),
    });
    if (signal.aborted) io.exit(Number(signal.reason));
  },
});
