import { z } from 'zod';
import {
  component,
  flag,
  integer,
  nullableInteger,
  nullableText,
  nullableTime,
  text,
} from './common.ts';
import { endpoint } from './endpoint.ts';
import { agentName, providerId } from './provider-kinds.ts';

export const authStatus = component(
  'AuthStatus',
  'Login state of a provider or agent, and the way it logs in.',
  {
    authenticated: z.boolean().nullable().meta({
      description:
        'Login state that was seen last. Null if unknown. An agent of the provider `acp` shows it when it opens a session, handles a prompt, or logs in or out.',
    }),
    mode: z.enum(['api_key', 'account', 'agent_managed', 'not_needed', 'not_configured']).meta({
      description:
        'Kind of login. `api_key`: an API key. `account`: an account of the company that offers the agent. `agent_managed`: the agent has a login of its own. `not_needed`: the agent is configured to use a model without a login. `not_configured`: no login is known.',
    }),
    detail: text('Description of the login, or how to log in.'),
  },
);
export type AuthStatus = z.output<typeof authStatus>;

const agent = component('Agent', 'An agent of a provider that has several agents.', {
  name: agentName,
  display_name: z.string(),
  configured: flag('Whether the configuration has a section for the agent.'),
  installed: flag('Whether the command of the agent was found.'),
  healthy: flag(
    'Whether the agent can be used. False if it cannot start, its last start failed, or its processes have reported that it is not logged in.',
  ),
  detail: text('`ready`, or the problem and how to solve it.'),
  version: nullableText(
    'Version that the agent reported at its last start. Null if it has not been started yet.',
  ),
  default: flag('Whether new sessions use the agent if they name none.'),
  modes: z.array(z.string()).meta({
    description:
      "The agent's own modes, for agent_mode, as the agent reported them last. Empty if it has none or none are known yet.",
  }),
  mode_names: z.record(z.string(), z.string()).optional().meta({
    description:
      'Names of the modes for users, by the id in `modes`. A mode whose name is its id is left out. Absent if there are no names.',
  }),
  asks: z.boolean().nullable().meta({
    description:
      'Whether the agent requests permission in at least one of its modes. False if it never does. Null if unknown.',
  }),
  auth: authStatus.describe('Login state that was seen last. Reading it starts no agent.'),
});
export type AgentRecord = z.output<typeof agent>;

/** The query of requests that read data of one agent of a provider. */
export const agentQuery = {
  agent: agentName
    .optional()
    .describe('Name of the agent, for a provider with several agents. Default: the default agent.'),
};

export const provider = component(
  'Provider',
  'A provider of agents, its capabilities and its health.',
  {
    id: providerId,
    display_name: z.string(),
    enabled: flag('Whether the configuration enables the provider.'),
    healthy: flag('Whether sessions can use the provider now. If not, see `detail`.'),
    logged_in: z.boolean().nullable().meta({
      description:
        'Whether the agent is logged in, as its program reported last. The server asks in the background, at most once a minute. Null if unknown.',
    }),
    login_checked_at: nullableTime(
      'Time of the report of logged_in (Unix ms). Null if no report has been received.',
    ),
    login_is_stale: flag(
      'Whether logged_in is older than a minute, or older than a change of the login. The agent has not reported its login state since.',
    ),
    detail: text('`ready`, or the problem and how to solve it. A missing login is a problem.'),
    default: flag("Whether the server's configuration selects this provider for new sessions."),
    capabilities: z.looseObject({
      images: flag('Whether prompts may contain images.'),
      approvals: flag('Whether agents request approval.'),
      interrupt: flag('Whether turns can be interrupted.'),
      resume: flag('Whether a session can continue after its agent has ended.'),
      usage: flag('Whether agents report usage.'),
      models: flag('Whether the models can be listed.'),
    }),
    agents: z.array(agent).meta({
      description:
        'Configured or installed agents, for a provider with several agents. Otherwise empty. The `healthy` field of the provider describes its default agent.',
    }),
  },
);
export type ProviderRecord = z.output<typeof provider>;

export const model = component('Model', 'A model of a provider.', {
  id: z.string(),
  display_name: z.string(),
  reasoning_levels: z.array(z.string()),
});
export type Model = z.output<typeof model>;

const observations = {
  command: nullableText('Command that starts the agent. Null if none was found.'),
  unknown_messages: integer('Number of messages of agents that the server does not know.'),
  last_error: nullableText('Last error. Null if there is none.'),
};

const agentDiagnostics = agent
  .extend({
    sessions: integer('Number of running processes of the agent.'),
    ...observations,
  })
  .meta({
    id: 'AgentDiagnostics',
    description: 'An agent of a provider, with its processes and errors.',
  });

export const providerDiagnostics = provider
  .extend({
    version: nullableText('Version that the program reported. Null if unknown.'),
    pid: nullableInteger(
      'Id of the process that serves all sessions. Null if no process serves all sessions.',
    ),
    sessions: integer('Number of running agents.'),
    ...observations,
    agents: z.array(agentDiagnostics),
  })
  .meta({ id: 'ProviderDiagnostics', description: 'A provider with its processes and errors.' });
export type ProviderDiagnostics = z.output<typeof providerDiagnostics>;

/** Here the path names the provider: the request is correct, but the server cannot serve it now. */
export const statuses = { provider_unavailable: 409 };

export const listProviders = endpoint('GET /v1/providers', {
  summary: 'List the providers, their capabilities and whether they are healthy',
  response: z.array(provider),
});

export const listModels = endpoint('GET /v1/providers/{provider}/models', {
  summary:
    'List the models of a provider or of one of its agents, as the agent reported them last; may start the agent',
  params: { provider: providerId.describe('Provider id.') },
  query: agentQuery,
  response: z.array(model),
  errors: ['provider_unavailable'],
  statuses,
});

export const getProviderDiagnostics = endpoint('GET /v1/diagnostics/providers', {
  summary: 'List the providers with their processes and errors',
  response: z.array(providerDiagnostics),
});
