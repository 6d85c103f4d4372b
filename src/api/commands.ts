import { z } from 'zod';
import { component, nullableText, text } from './common.ts';
import { endpoint } from './endpoint.ts';
import { sessionParam } from './sessions.ts';

const agentCommand = component('AgentCommand', 'A slash command of an agent.', {
  name: text('Name of the command, without the slash.'),
  description: z.string(),
  hint: nullableText('Text that shows the arguments of the command. Null if unknown.'),
});
export type AgentCommand = z.output<typeof agentCommand>;

export const listCommands = endpoint('GET /v1/sessions/{session_id}/commands', {
  summary:
    'List the slash commands that the agent reported last; a prompt that starts with one runs it',
  params: sessionParam,
  response: z
    .array(agentCommand)
    .describe('Slash commands of the agent. Empty if the agent has reported none yet.'),
});
