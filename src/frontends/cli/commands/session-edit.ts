import { type Command, Option } from 'commander';
import { usageError } from '../../../api/errors.ts';
import { endpoints } from '../../../api/index.ts';
import { inheritedPermissionModes } from '../../../api/permission-modes.ts';
import { agentProvider, providerId } from '../../../api/provider-kinds.ts';
import { agentOf } from '../../../client/agent-of.ts';
import { endpointCommand, type Fields } from '../endpoint-command.ts';
import { sessionArgument, sessionId } from '../find.ts';
import { labelOf, plain, shortId } from '../output.ts';
import { session } from '../parameters.ts';
import type { AgentOptions } from '../talk/open-session.ts';
import { clientAction, type CommandContext, type World } from '../world.ts';

type Setting = 'agent_mode' | 'model' | 'thinking_effort';

/** `cadre sessions edit`. */
export const sessionEdit = endpointCommand({
  name: 'edit',
  description: 'Change the model and the modes of a session, from its next turn on',
  endpoint: endpoints.updateSession,
  operands: [session],
  options: [
    {
      flags: '--permission-mode <mode>',
      description: 'Permission mode of the agent ("" removes it)',
      async read(value, { client, fields }) {
        if (value === '') return { permission_mode: null };
        const { assertPermissionMode } = await import('../talk/assert-mode.ts');
        const params = { session_id: String(fields.session_id) };
        const mode = String(value);
        await assertPermissionMode(
          { client },
          await client.call(endpoints.getSession, { params }),
          mode,
        );
        return { permission_mode: mode };
      },
    },
    setting('--agent-mode <mode>', 'Mode of the agent that the agent defines', 'agent_mode'),
    setting('--model <model>', 'Model of the agent', 'model'),
    setting('--effort <effort>', 'Reasoning effort of the model', 'thinking_effort'),
  ],
  fields(options) {
    if (Object.keys(options).length === 0)
      throw usageError('there is nothing to change: pass an option such as --model');
    return {};
  },
  print: ({ id, title, permission_mode, agent_mode, model, thinking_effort }) => {
    const settings = [
      `permission mode ${plain(permission_mode ?? 'default')}`,
      ...(agent_mode === null ? [] : [`agent mode ${plain(agent_mode)}`]),
      `model ${plain(model ?? 'default')}`,
      ...(thinking_effort === null ? [] : [`effort ${plain(thinking_effort)}`]),
    ];
    return `Updated session ${labelOf(id, title)} from its next turn on: ${settings.join(', ')}\n`;
  },
});

function setting(flags: string, description: string, field: Setting) {
  return {
    flags,
    description: `${description} ("" removes it)`,
    read: (value: unknown): Partial<Fields<typeof endpoints.updateSession>> => ({
      [field]: value === '' ? null : value,
    }),
  };
}

interface HandoffOptions extends AgentOptions {
  note?: string;
  full?: boolean;
  close?: boolean;
}

/** `cadre sessions handoff`. */
export function sessionHandoff(sessions: Command, world: World): void {
  sessions
    .command('handoff')
    .description(
      'Hand a session over to another agent, which continues the work in the same directory',
    )
    .argument(...sessionArgument)
    .addOption(
      new Option('--provider <provider>', 'Provider of the new agent').choices(providerId.options),
    )
    .option('--agent <agent>', 'Name of the new agent for the provider acp, such as gemini')
    .option('--model <model>', 'Model of the new agent')
    .option('--effort <effort>', 'Reasoning effort of the model')
    .option(
      '--permission-mode <mode>',
      'Permission mode of the new session (default: keeps require_approval and read_only, otherwise as for a new session)',
    )
    .option(
      '--agent-mode <mode>',
      'Name of a mode that the new agent itself defines, such as plan (only for the provider acp)',
    )
    .option('--title <title>', 'Title of the new session (default: title of the old session)')
    .option('--note <text>', 'Request to the new agent (default: a request to continue)')
    .option('--full', 'Also write a longer record to a file for the new agent')
    .option('--close', 'Close the old session in the same step')
    .action(clientAction(world, handOff));
}

async function handOff(
  context: CommandContext,
  said: string,
  options: HandoffOptions,
): Promise<void> {
  const { client, show } = context;
  const named = options.agent === undefined ? undefined : agentProvider;
  const provider = options.provider ?? named;
  if (provider === undefined)
    throw usageError('name the new agent with --provider or --agent, such as --provider codex');
  const session_id = await sessionId(client, said);
  const [{ defaultsOf }, { agentBody }] = await Promise.all([
    import('../talk/defaults.ts'),
    import('../talk/open-session.ts'),
  ]);
  const defaults = await defaultsOf(context);
  const old = await client.call(endpoints.getSession, { params: { session_id } });
  const body = {
    ...(await agentBody(context, provider, defaults, {
      ...options,
      hasPerson: context.world.stdin.isTTY === true,
      keepsMode: inheritedPermissionModes.includes(old.permission_mode ?? ''),
    })),
    note: options.note,
    full: options.full,
    close: options.close,
  };
  const answer = await client.call(endpoints.handOffSession, { params: { session_id }, body });
  const { session } = answer;
  show(
    answer,
    () =>
      `Handed session ${shortId(session_id)} over to ${plain(agentOf(session))}: session ${labelOf(session.id, session.title)}\nFollow its first turn with cadre sessions attach ${shortId(session.id)}\n`,
  );
}
