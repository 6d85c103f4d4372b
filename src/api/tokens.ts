import { z } from 'zod';
import { component, nameOfLength, nullableTime, pageQuery, timestamp } from './common.ts';
import { endpoint } from './endpoint.ts';

/** The maximum lifetime of a token: ten years. */
const MAX_LIFETIME_MS = 315_360_000_000;

/** The id of the API token of the configuration, as used in the log and in `decided_by`. */
export const API_TOKEN_ID = 'api';

/**
 * The rights of a token. `admin`: everything. `read`: GET and HEAD only, without token routes and without waiting for
 * ports. `tools`: only the tools under /v1/mcp/, on behalf of any session.
 */
export const tokenScope = z.enum(['admin', 'read', 'tools']).meta({
  id: 'TokenScope',
  description:
    'Rights of the token. `admin`: everything. `read`: GET and HEAD only, without token routes and without waiting for ports. `tools`: only the tools under /v1/mcp/, on behalf of any session. The tools can start processes, so `tools` is not a weaker right than `admin`.',
});
export type TokenScope = z.output<typeof tokenScope>;

const permissionMode = z.enum(['read_only', 'default', 'full_access']).nullable().meta({
  description:
    'Permission mode for calls of a `tools` token without a session, for which no user can approve requests. `full_access`: commands may run. Other modes and null: only actions that the tool policy allows without approval.',
});

export const token = component('Token', 'An additional token, without its secret.', {
  id: z.string(),
  name: z.string(),
  scope: tokenScope,
  created_at: timestamp,
  expires_at: nullableTime('Expiry time (Unix ms). Null if the token does not expire.'),
  permission_mode: permissionMode,
  last_used_at: nullableTime(
    'Time of the last use (Unix ms), precise to the minute. Null if the token was never used or the time is unknown.',
  ),
});
export type Token = z.output<typeof token>;

export const createdToken = token
  .extend({
    secret: z.string().describe('Secret to send as bearer token. Only this response contains it.'),
  })
  .meta({ id: 'CreatedToken', description: 'A token with its secret.' });
export type CreatedToken = z.output<typeof createdToken>;

export const listTokens = endpoint('GET /v1/tokens', {
  summary: 'List the additional tokens, newest first; the API token is not listed',
  access: 'admin',
  query: pageQuery,
  response: z.array(token),
});

export const createToken = endpoint('POST /v1/tokens', {
  summary: 'Create a token; accepts no Idempotency-Key',
  access: 'admin',
  secret: true,
  body: z.strictObject({
    name: nameOfLength(100)
      .regex(/^[^\u0000-\u001f\u007f-\u009f]*$/, 'must not contain control characters')
      .describe('Purpose of the token. It need not be unique.'),
    scope: tokenScope,
    expires_in_ms: z.int().min(1000).max(MAX_LIFETIME_MS).nullish().meta({
      description:
        'Lifetime in milliseconds, at most 10 years. Default: until the token is revoked.',
    }),
    permission_mode: permissionMode.optional(),
  }),
  response: createdToken,
  errors: ['conflict'],
});

export const deleteToken = endpoint('DELETE /v1/tokens/{token_id}', {
  summary:
    'Revoke a token: end its streams, kill the processes that it started without a session, and refuse further requests with it',
  access: 'admin',
  params: { token_id: z.string().describe('Token id.') },
  response: token,
});
