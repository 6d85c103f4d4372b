import { endpoints } from '../../../api/index.ts';
import { usageError } from '../../../api/errors.ts';
import { endpointCommand, type Fields } from '../endpoint-command.ts';
import { labelOf, plain } from '../output.ts';
import { session } from '../parameters.ts';

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
