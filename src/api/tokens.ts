import { z } from 'zod';
import { givenName, pageQuery, timestamp } from './common.ts';
import { endpoint } from './endpoint.ts';

/** Ten years: the longest lifetime of a token. */
const MAX_LIFETIME_MS = 315_360_000_000;

/** The id of the API token, which comes from the configuration, in the log and in `decided_by`. */
export const API_TOKEN_ID = 'api';

/**
 * The rights of a token. `admin`: everything. `read`: GET and HEAD only, without the routes of tokens and without
 * waiting for ports. `tools`: only the tools under /v1/mcp/, on behalf of any session.
 */
export const tokenScope = z.enum(['admin', 'read', 'tools']).meta({
  id: 'TokenScope',
  description:
    'The rights of the token. `admin`: everything. `read`: GET and HEAD only, without the routes of tokens and without waiting for ports. `tools`: only the tools under /v1/mcp/, on behalf of any session; these can start processes, so this is not a lesser right than `admin`.',
});
export type TokenScope = z.output<typeof tokenScope>;

const permissionMode = z
  .enum(['read_only', 'default', 'full_access'])
  .nullable()
  .describe(
    'Of the scope `tools`: what its bearer may do without a session, where no person can be asked. `full_access`: run commands. Others, and null: what the gate lets it do without asking.',
  );

export const token = z
  .looseObject({
    id: z.string(),
    name: z.string(),
    scope: tokenScope,
    created_at: timestamp,
    expires_at: timestamp.nullable().describe('When it becomes invalid; null: never.'),
    permission_mode: permissionMode,
    last_used_at: timestamp
      .nullable()
      .describe('When it was last used, to the minute; null: never, or not known.'),
  })
  .meta({ id: 'Token', description: 'A token beside the API token, without its secret.' });
export type Token = z.output<typeof token>;

export const createdToken = token
  .extend({
    secret: z
      .string()
      .describe('The secret that the bearer sends. Only this response contains it.'),
  })
  .meta({ id: 'CreatedToken', description: 'A token with its secret.' });
export type CreatedToken = z.output<typeof createdToken>;

export const listTokens = endpoint({
  method: 'GET',
  path: '/v1/tokens',
  summary: 'List the tokens that were created beside the API token, newest first',
  access: 'admin',
  query: pageQuery,
  response: z.array(token),
});

export const createToken = endpoint({
  method: 'POST',
  path: '/v1/tokens',
  summary: 'Create a token; accepts no Idempotency-Key',
  access: 'admin',
  secret: true,
  body: z.strictObject({
    name: givenName(100)
      .regex(/^[^\u0000-\u001f\u007f-\u009f]*$/, 'has to be without control characters')
      .describe('The purpose of the token; need not be unique.'),
    scope: tokenScope,
    expires_in_ms: z
      .int()
      .min(1000)
      .max(MAX_LIFETIME_MS)
      .nullish()
      .describe('Its lifetime, at most 10 years; absent or null: until it is revoked.'),
    permission_mode: permissionMode.optional(),
  }),
  response: createdToken,
  errors: ['conflict'],
});

export const deleteToken = endpoint({
  method: 'DELETE',
  path: '/v1/tokens/{token_id}',
  summary:
    'Revoke a token: its streams and the processes that it started as a caller of its own end, and requests with it are refused from now on',
  access: 'admin',
  params: { token_id: z.string().describe('The token.') },
  response: token,
  errors: ['not_found'],
});
