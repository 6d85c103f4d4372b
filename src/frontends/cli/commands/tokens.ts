import { endpoints } from '../../../api/index.ts';
import type { Token } from '../../../api/tokens.ts';
import { clientCommand, commandGroup } from '../command.ts';
import { endpointCommand } from '../endpoint-command.ts';
import { milliseconds } from '../option-values.ts';
import { listOptions } from '../output-options.ts';
import { tokens } from '../record-kinds.ts';
import { ago, labelOf, listOf, shortId } from '../output.ts';
import { token } from '../parameters.ts';

export const tokenCommands = commandGroup('tokens', 'Manage API tokens', [
  clientCommand({
    name: 'list',
    description: 'List API tokens, newest first',
    parameters: listOptions,
    async run({ io, client, show, note, layout }) {
      const found = await Array.fromAsync(tokens.all(client));
      show(found, () => tokenTable(found, { now: io.clock.now(), layout }));
      if (found.length === 0) note('no tokens: create one with cadre tokens create NAME');
    },
  }),
  endpointCommand({
    name: 'create',
    description: 'Create an API token, and print its secret, which is shown only once',
    endpoint: endpoints.createToken,
    parameters: [
      '<name>  Name of the API token',
      {
        line: '--scope <scope>  Permissions of the token: all requests (admin), only reading (read), or only calling tools (tools)',
        default: 'admin',
      },
      '--permission-mode <mode>  Permissions of a token with --scope tools (full_access also allows running commands)',
      {
        line: '--expires <time>  Lifetime of the token, such as 12h or 30d (default: valid until revoked)',
        parse: milliseconds,
        field: 'expires_in_ms',
      },
    ],
    print: ({ secret }) => `${secret}\n`,
    after: (_created, { stderr }) =>
      void stderr.write('cadre: the secret is shown only once: store it in a safe place\n'),
  }),
  endpointCommand({
    name: 'revoke',
    description: 'Revoke an API token, close its open streams, and refuse its requests',
    endpoint: endpoints.deleteToken,
    parameters: [token],
    print: ({ id, name }) => `Revoked token ${labelOf(id, name)}\n`,
  }),
]);

const tokenTable = listOf<Token>(['ID', 'SCOPE', 'AGE', 'USED', 'EXPIRES', 'NAME'], (one, now) => [
  shortId(one.id),
  one.scope,
  ago(one.created_at, now),
  one.last_used_at === null ? '-' : ago(one.last_used_at, now),
  expiry(one, now),
  one.name,
]);

function expiry({ expires_at }: Token, now: number): string {
  if (expires_at === null) return 'never';
  return expires_at <= now ? 'expired' : `in ${ago(now, expires_at)}`;
}
