import { z } from 'zod';
import { endpoint } from './endpoint.ts';
import { agentName, providerId } from './provider-kinds.ts';

export const authStatus = z
  .looseObject({
    authenticated: z
      .boolean()
      .nullable()
      .describe(
        'As it was last seen. Null while only the agent knows: an agent of acp shows it when it opens a session, answers or refuses a prompt, or logs in or out.',
      ),
    mode: z.enum(['api_key', 'account', 'agent_managed', 'not_needed', 'not_configured']),
    detail: z.string(),
  })
  .meta({
    id: 'AuthStatus',
    description: 'Whether a provider is logged in, and how.',
  });
export type AuthStatus = z.output<typeof authStatus>;

const agent = z
  .looseObject({
    name: agentName,
    display_name: z.string(),
    configured: z.boolean().describe('Whether the configuration has a section for it.'),
    installed: z.boolean().describe('Whether its command was found.'),
    healthy: z
      .boolean()
      .describe(
        'False: it cannot start, its last start failed, or nobody is logged in, as far as its processes have shown.',
      ),
    detail: z.string().describe('`ready`, or what is wrong and what to do.'),
    version: z
      .string()
      .nullable()
      .describe('As it said when it was last started; null: it was not started yet.'),
    default: z.boolean().describe('Whether new sessions that name no agent get it.'),
    modes: z
      .array(z.string())
      .describe(
        'The modes of its own, for agent_mode, as it last offered them; empty: none, or none was seen yet.',
      ),
    asks: z
      .boolean()
      .nullable()
      .describe(
        'False: it never asks for a permission, in no mode; true: it does, in some mode; null: not known.',
      ),
    auth: authStatus.describe('As it was last seen; nothing is started for this.'),
  })
  .meta({ id: 'Agent', description: 'An agent of a provider whose agents have names.' });
export type AgentRecord = z.output<typeof agent>;

/** The query of a read that is about one agent of a provider. */
export const agentQuery = {
  agent: agentName
    .optional()
    .describe('The agent, where those of the provider have names; absent: its default agent.'),
};

export const provider = z
  .looseObject({
    id: providerId,
    display_name: z.string(),
    enabled: z.boolean(),
    healthy: z.boolean(),
    detail: z.string(),
    default: z
      .boolean()
      .describe('Whether the configuration of the server names it as the one for new sessions.'),
    capabilities: z.looseObject({
      images: z.boolean(),
      approvals: z.boolean(),
      interrupt: z.boolean(),
      resume: z.boolean(),
      usage: z.boolean(),
      models: z.boolean(),
    }),
    agents: z
      .array(agent)
      .describe(
        'Those that are configured or installed, where its agents have names; else empty. `healthy` of the provider is about its default agent.',
      ),
  })
  .meta({
    id: 'Provider',
    description: 'A kind of agent, what it can do and whether it could start.',
  });
export type ProviderRecord = z.output<typeof provider>;

export const model = z
  .looseObject({ id: z.string(), display_name: z.string(), reasoning_levels: z.array(z.string()) })
  .meta({
    id: 'Model',
    description: 'A model of a provider.',
  });
export type Model = z.output<typeof model>;

const agentDiagnostics = agent
  .extend({
    command: z.string().nullable(),
    sessions: z.int().describe('Processes of it that live just now.'),
    unknown_messages: z.int(),
    last_error: z.string().nullable(),
  })
  .meta({ id: 'AgentDiagnostics', description: 'An agent of a provider with what it runs.' });

export const providerDiagnostics = provider
  .extend({
    version: z.string().nullable(),
    command: z.string().nullable(),
    pid: z.int().nullable().describe('Of the process that serves all sessions, where one does.'),
    sessions: z.int().describe('Agents that live just now.'),
    unknown_messages: z.int(),
    last_error: z.string().nullable(),
    agents: z.array(agentDiagnostics),
  })
  .meta({
    id: 'ProviderDiagnostics',
    description: 'A provider with what it runs just now.',
  });
export type ProviderDiagnostics = z.output<typeof providerDiagnostics>;

/** The path names the provider: that it is not there is no fault of the request, but how the server is just now. */
export const statuses = { provider_unavailable: 409 };

export const listProviders = endpoint({
  method: 'GET',
  path: '/v1/providers',
  summary: 'The providers of this server, what they can do and whether they are healthy',
  response: z.array(provider),
});

export const listModels = endpoint({
  method: 'GET',
  path: '/v1/providers/{provider}/models',
  summary:
    'The models of a provider, or of one of its agents, as the agent last offered them; it may be started for this',
  params: { provider: providerId.describe('The provider.') },
  query: agentQuery,
  response: z.array(model),
  errors: ['not_found', 'provider_unavailable'],
  statuses,
});

export const getProviderDiagnostics = endpoint({
  method: 'GET',
  path: '/v1/diagnostics/providers',
  summary: 'The providers with what they run',
  response: z.array(providerDiagnostics),
});
