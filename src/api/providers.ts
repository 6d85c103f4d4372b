import { z } from 'zod';
import { endpoint } from './endpoint.ts';
import { providerId } from './sessions.ts';

export const provider = z
  .looseObject({
    id: providerId,
    display_name: z.string(),
    enabled: z.boolean(),
    healthy: z.boolean(),
    detail: z.string(),
    capabilities: z.looseObject({
      images: z.boolean(),
      approvals: z.boolean(),
      interrupt: z.boolean(),
      resume: z.boolean(),
      usage: z.boolean(),
      models: z.boolean(),
    }),
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

export const authStatus = z
  .looseObject({
    authenticated: z.boolean().nullable().describe('Null where only the agent knows.'),
    mode: z.enum(['api_key', 'account', 'agent_managed', 'not_needed', 'not_configured']),
    detail: z.string(),
  })
  .meta({
    id: 'AuthStatus',
    description: 'Whether a provider is logged in, and how.',
  });
export type AuthStatus = z.output<typeof authStatus>;

export const providerDiagnostics = provider
  .extend({
    version: z.string().nullable(),
    command: z.string().nullable(),
    pid: z.int().nullable().describe('Of the process that serves all sessions, where one does.'),
    sessions: z.int().describe('Agents that live just now.'),
    unknown_messages: z.int(),
    last_error: z.string().nullable(),
  })
  .meta({
    id: 'ProviderDiagnostics',
    description: 'A provider with what it runs just now.',
  });
export type ProviderDiagnostics = z.output<typeof providerDiagnostics>;

/** The path names the provider: that it is not there is no fault of the request, but how the server is just now. */
const statuses = { provider_unavailable: 409 };

const apiKey = z
  .string()
  .min(1)
  .max(4096)
  .regex(/^[\x21-\x7e]+$/, 'has to be visible ASCII characters without blanks')
  .describe('The key. It is shown nowhere again.');

export const listProviders = endpoint({
  method: 'GET',
  path: '/v1/providers',
  summary: 'The providers of this server, what they can do and whether they are healthy',
  response: z.array(provider),
});

export const listModels = endpoint({
  method: 'GET',
  path: '/v1/providers/{provider}/models',
  summary: 'The models of a provider; empty where they are chosen inside its agent',
  params: { provider: providerId.describe('The provider.') },
  response: z.array(model),
  errors: ['not_found', 'provider_unavailable'],
  statuses,
});

export const getAcpAuthStatus = endpoint({
  method: 'GET',
  path: '/v1/providers/acp/auth/status',
  summary: 'Whether the agent is logged in, as far as can be told',
  response: authStatus,
});

export const getCodexAuthStatus = endpoint({
  method: 'GET',
  path: '/v1/providers/codex/auth/status',
  summary: 'Whether somebody is logged in to codex, told without a network',
  response: authStatus,
  errors: ['provider_unavailable'],
  statuses,
});

export const setCodexApiKey = endpoint({
  method: 'POST',
  path: '/v1/providers/codex/auth/api-key',
  summary: 'Give codex an API key, kept in its private home; takes no Idempotency-Key',
  access: 'admin',
  secret: true,
  body: z.strictObject({ api_key: apiKey }),
  response: authStatus,
  errors: ['provider_managed', 'provider_unavailable'],
  statuses,
});

export const importCodexLogin = endpoint({
  method: 'POST',
  path: '/v1/providers/codex/auth/import',
  summary: 'Give codex a login that was made elsewhere; takes no Idempotency-Key',
  access: 'admin',
  secret: true,
  body: z.strictObject({
    auth_json: z
      .record(z.string(), z.unknown())
      .describe("The content of codex's own auth.json. It is shown nowhere again."),
  }),
  response: authStatus,
  errors: ['provider_managed', 'provider_unavailable'],
  statuses,
});

export const endCodexLogin = endpoint({
  method: 'POST',
  path: '/v1/providers/codex/auth/logout',
  summary: 'End the login in the private home of codex; takes no Idempotency-Key',
  access: 'admin',
  secret: true,
  response: authStatus,
  errors: ['provider_managed', 'provider_unavailable'],
  statuses,
});

export const getClaudeAuthStatus = endpoint({
  method: 'GET',
  path: '/v1/providers/claude/auth/status',
  summary: 'Whether somebody is logged in to claude, told without a network',
  response: authStatus,
  errors: ['provider_unavailable'],
  statuses,
});

export const setClaudeApiKey = endpoint({
  method: 'POST',
  path: '/v1/providers/claude/auth/api-key',
  summary: 'Give claude an API key, kept in its private home; takes no Idempotency-Key',
  access: 'admin',
  secret: true,
  body: z.strictObject({ api_key: apiKey }),
  response: authStatus,
  errors: ['provider_managed', 'provider_unavailable'],
  statuses,
});

export const endClaudeLogin = endpoint({
  method: 'POST',
  path: '/v1/providers/claude/auth/logout',
  summary: 'End the login in the private home of claude; takes no Idempotency-Key',
  access: 'admin',
  secret: true,
  response: authStatus,
  errors: ['provider_managed', 'provider_unavailable'],
  statuses,
});

export const getProviderDiagnostics = endpoint({
  method: 'GET',
  path: '/v1/diagnostics/providers',
  summary: 'The providers with what they run',
  response: z.array(providerDiagnostics),
});
