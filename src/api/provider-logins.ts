import { z } from 'zod';
import { endpoint } from './endpoint.ts';
import {
  type LoginProviderId,
  loginProviderIds,
  type ProviderId,
  providerIds,
  providerKinds,
} from './provider-kinds.ts';
import { agentQuery, authStatus, statuses } from './providers.ts';

/** The common part of the routes that change a login. */
const changing = {
  access: 'admin',
  secret: true,
  response: authStatus,
  errors: ['provider_managed', 'provider_unavailable'],
  statuses,
} as const;

const apiKey = z
  .string()
  .min(1)
  .max(4096)
  .regex(/^[\x21-\x7e]+$/, 'must be visible ASCII characters without spaces')
  .describe('API key. It is never returned.');

/** The login state route of each provider. */
export const authStatusEndpoints = byProvider(providerIds, statusEndpoint);

/** The routes that change a login, by provider. `importLogin` is null if the provider accepts no file. */
export const loginEndpoints = byProvider(loginProviderIds, (id) => ({
  setKey: keyEndpoint(id),
  importLogin: importEndpoint(id, providerKinds[id].login.file),
  end: logoutEndpoint(id),
}));

/** All of these routes by their names in openapi.yaml, such as `setCodexApiKey`. */
export const namedLoginEndpoints = {
  ...named(providerIds, 'get', 'AuthStatus', (id) => authStatusEndpoints[id]),
  ...named(loginProviderIds, 'set', 'ApiKey', (id) => loginEndpoints[id].setKey),
  ...named(loginProviderIds.filter(takesFile), 'import', 'Login', importOf),
  ...named(loginProviderIds, 'end', 'Login', (id) => loginEndpoints[id].end),
};

function statusEndpoint(id: ProviderId) {
  const isAgents = providerKinds[id].login === null;
  return endpoint(`GET /v1/providers/${id}/auth/status`, {
    summary: isAgents
      ? 'Get the login state of the agent, as far as it is known'
      : `Get the login state of ${id}, without network access`,
    ...(providerKinds[id].hasNamedAgents ? { query: agentQuery } : {}),
    response: authStatus,
    ...(isAgents ? {} : { errors: ['provider_unavailable'], statuses }),
  });
}

function keyEndpoint(id: LoginProviderId) {
  return endpoint(`POST /v1/providers/${id}/auth/api-key`, {
    ...changing,
    summary: `Set the API key of ${id}, stored in its private home directory; accepts no Idempotency-Key`,
    body: z.strictObject({ api_key: apiKey }),
  });
}

function importEndpoint(id: LoginProviderId, file: string | null) {
  if (file === null) return null;
  return endpoint(`POST /v1/providers/${id}/auth/import`, {
    ...changing,
    summary: `Import a login of ${id} from another place; accepts no Idempotency-Key`,
    body: z.strictObject({
      auth_json: z
        .record(z.string(), z.unknown())
        .describe(`Content of the login file of ${id}, ${file}. It is never returned.`),
    }),
  });
}

function logoutEndpoint(id: LoginProviderId) {
  return endpoint(`POST /v1/providers/${id}/auth/logout`, {
    ...changing,
    summary: `Log out of ${id} in its private home directory; accepts no Idempotency-Key`,
  });
}

type FileProviderId = {
  [Id in LoginProviderId]: (typeof providerKinds)[Id]['login']['file'] extends null ? never : Id;
}[LoginProviderId];

function takesFile(id: LoginProviderId): id is FileProviderId {
  return providerKinds[id].login.file !== null;
}

function importOf(id: FileProviderId) {
  return loginEndpoints[id].importLogin as NonNullable<ReturnType<typeof importEndpoint>>;
}

function byProvider<Id extends ProviderId, T>(ids: readonly Id[], make: (id: Id) => T) {
  return Object.fromEntries(ids.map((id) => [id, make(id)])) as Record<Id, T>;
}

function named<Id extends ProviderId, Verb extends string, Noun extends string, T>(
  ids: readonly Id[],
  verb: Verb,
  noun: Noun,
  make: (id: Id) => T,
) {
  const entries = ids.map((id) => [
    `${verb}${id.charAt(0).toUpperCase()}${id.slice(1)}${noun}`,
    make(id),
  ]);
  return Object.fromEntries(entries) as Record<`${Verb}${Capitalize<Id>}${Noun}`, T>;
}
