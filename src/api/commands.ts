import { z } from 'zod';
import { endpoint } from './endpoint.ts';
import { sessionParam } from './sessions.ts';

const agentCommand = z
  .looseObject({
    name: z.string().describe('Without the slash.'),
    description: z.string(),
    hint: z.string().nullable().describe('What may follow its name; null: nothing is known of it.'),
  })
  .meta({ id: 'AgentCommand', description: 'A slash command of an agent.' });
export type AgentCommand = z.output<typeof agentCommand>;

export const listCommands = endpoint({
  method: 'GET',
  path: '/v1/sessions/{session_id}/commands',
  summary:
    'The slash commands of its agent, as the agent told them last; a prompt that begins with one runs it',
  params: sessionParam,
  response: z.array(agentCommand).describe('Empty where the agent has named none so far.'),
  errors: ['not_found'],
});
