import { z } from 'zod';
import { component, flag, nullableText, optionalName, text } from './common.ts';
import { endpoint } from './endpoint.ts';
import { authStatus, statuses } from './providers.ts';

const program = component('LoginProgram', "An agent's own login program.", {
  command: z.string(),
  args: z.array(z.string()),
  env: z
    .record(z.string(), z.string())
    .describe('Complete environment of the program. The environment may contain secrets.'),
});
export type LoginProgram = z.output<typeof program>;

const authMethod = component('AuthMethod', 'A login method that an agent offers.', {
  id: z.string(),
  name: z.string(),
  description: z.string().nullable(),
  type: z.enum(['agent', 'env_var', 'terminal']).meta({
    description:
      "Kind of login. `agent`: the agent logs in by itself, often with a browser. `env_var`: the agent reads environment variables. `terminal`: a user runs the agent's login program in a terminal.",
  }),
  variables: z
    .array(
      z.looseObject({
        name: z.string(),
        optional: z.boolean(),
        set: flag('Whether the variable is set in the environment of the agent.'),
      }),
    )
    .describe('Environment variables that the agent reads, as far as it reports them.'),
  needs_person: flag('Whether a user must take part or set a variable first.'),
  link: nullableText(
    'URL of the page where users get the required key or account. Null if the agent names none.',
  ),
  program: program
    .nullable()
    .describe("Program to run in a terminal on the server's machine. Null for other types."),
});
export type AuthMethodRecord = z.output<typeof authMethod>;

const agentLogin = component('AgentLogin', 'Login state and login methods of an agent.', {
  agent: z.string(),
  auth: authStatus,
  can_log_out: flag('Whether the agent can log out on request.'),
  methods: z.array(authMethod),
});
export type AgentLoginRecord = z.output<typeof agentLogin>;

/** The common part of these routes. Each starts the agent. */
const common = {
  access: 'admin',
  secret: true,
  params: { agent: text('Name of the agent.') },
  errors: ['provider_unavailable', 'provider_managed'],
  statuses,
} as const;

export const getAgentLogin = endpoint('GET /v1/providers/acp/agents/{agent}/login', {
  ...common,
  summary: 'Get the login methods of an agent; starts the agent',
  response: agentLogin,
});

export const authenticateAgent = endpoint('POST /v1/providers/acp/agents/{agent}/authenticate', {
  ...common,
  summary:
    'Log in to an agent; responds when the login has finished, which may require a user at the browser',
  body: z.strictObject({
    method_id: optionalName(
      'Id of the login method. Default: the configured method, or else the only method that can be used.',
    ),
  }),
  response: authStatus,
});

const loginPage = component(
  'LoginPage',
  'A web page that a user must open to log in to an agent.',
  { message: text('Message of the agent.'), url: z.string() },
);
export type LoginPage = z.output<typeof loginPage>;

export const listLoginPages = endpoint('GET /v1/providers/acp/agents/{agent}/login/pages', {
  ...common,
  summary: 'List the web pages that the running login needs a user to open; starts no agent',
  response: z.array(loginPage),
});

export const checkAgentLogin = endpoint('POST /v1/providers/acp/agents/{agent}/check', {
  ...common,
  summary: 'Start an agent and open a session to check the login state',
  response: authStatus,
});

export const logOutAgent = endpoint('POST /v1/providers/acp/agents/{agent}/logout', {
  ...common,
  summary: 'Log out of an agent, if the agent supports it',
  response: authStatus,
});
