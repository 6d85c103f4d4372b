import { z } from 'zod';
import { endpoint } from './endpoint.ts';
import { authStatus, statuses } from './providers.ts';

const program = z
  .looseObject({
    command: z.string(),
    args: z.array(z.string()),
    env: z.record(z.string(), z.string()).describe('All of its environment; it may have secrets.'),
  })
  .meta({ id: 'LoginProgram', description: "An agent's own login program." });
export type LoginProgram = z.output<typeof program>;

const authMethod = z
  .looseObject({
    id: z.string(),
    name: z.string(),
    description: z.string().nullable(),
    type: z
      .enum(['agent', 'env_var', 'terminal'])
      .describe(
        'agent: the agent logs in by itself, often with a browser. env_var: it reads variables of its environment. terminal: a person runs its login program in a terminal.',
      ),
    variables: z
      .array(
        z.looseObject({
          name: z.string(),
          optional: z.boolean(),
          set: z.boolean().describe('Whether the agent gets it.'),
        }),
      )
      .describe('The variables that it reads, as far as the agent says.'),
    needs_person: z
      .boolean()
      .describe('Whether a person has to take part, or to set a variable first.'),
    link: z.string().nullable().describe('Where people get what it needs.'),
    program: program
      .nullable()
      .describe('To be run in a terminal on the machine of the server; null for other types.'),
  })
  .meta({ id: 'AuthMethod', description: 'A way to log in that an agent offers.' });
export type AuthMethodRecord = z.output<typeof authMethod>;

const agentLogin = z
  .looseObject({
    agent: z.string(),
    auth: authStatus,
    can_log_out: z.boolean().describe('Whether the agent can end its login when it is asked to.'),
    methods: z.array(authMethod),
  })
  .meta({ id: 'AgentLogin', description: 'How people log in to an agent.' });
export type AgentLoginRecord = z.output<typeof agentLogin>;

/** What these routes have in common: each starts the agent. */
const common = {
  access: 'admin',
  params: { agent: z.string().describe('The name of the agent.') },
  errors: ['not_found', 'provider_unavailable', 'provider_managed'],
  statuses,
} as const;

export const getAgentLogin = endpoint({
  ...common,
  method: 'GET',
  path: '/v1/providers/acp/agents/{agent}/login',
  summary: 'The ways to log in that an agent offers; starts the agent to ask it',
  secret: true,
  response: agentLogin,
});

export const authenticateAgent = endpoint({
  ...common,
  method: 'POST',
  path: '/v1/providers/acp/agents/{agent}/authenticate',
  summary:
    'Log in to an agent; it answers once the agent has, which may wait for a person at its browser',
  secret: true,
  body: z.strictObject({
    method_id: z
      .string()
      .min(1)
      .nullish()
      .describe('Absent or null: the configured method, else the only one that can be called.'),
  }),
  response: authStatus,
});

const loginPage = z
  .looseObject({ message: z.string().describe("The agent's words."), url: z.string() })
  .meta({
    id: 'LoginPage',
    description: 'A page that a person is to open, to log in to an agent.',
  });
export type LoginPage = z.output<typeof loginPage>;

export const listLoginPages = endpoint({
  ...common,
  method: 'GET',
  path: '/v1/providers/acp/agents/{agent}/login/pages',
  summary: 'The pages that a login under way asks a person to open; nothing is started',
  secret: true,
  response: z.array(loginPage),
});

export const checkAgentLogin = endpoint({
  ...common,
  method: 'POST',
  path: '/v1/providers/acp/agents/{agent}/check',
  summary: 'Start an agent and open a session, to see whether somebody is logged in',
  secret: true,
  response: authStatus,
});

export const logOutAgent = endpoint({
  ...common,
  method: 'POST',
  path: '/v1/providers/acp/agents/{agent}/logout',
  summary: 'End the login of an agent, where it can do so',
  secret: true,
  response: authStatus,
});
