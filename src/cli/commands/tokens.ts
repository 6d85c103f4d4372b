import { type Command, Option } from 'commander';
import { endpoints } from '../../api/index.ts';
import type { Token, TokenScope } from '../../api/tokens.ts';
import type { Client } from '../../client/client.ts';
import { findByEnd, idArgument, pagesOf } from '../find.ts';
import { ago, shortId, table } from '../output.ts';
import { clientAction, type World } from '../world.ts';

/** `cadre tokens …`: tokens beside the API token. */
export function tokenCommands(program: Command, world: World): void {
  const tokens = program
    .command('tokens')
    .description('tokens for other programs, beside the API token');

  tokens
    .command('list')
    .description('list tokens, newest first')
    .action(
      clientAction(world, async ({ client, show }) => {
        const found = await allTokens(client);
        const now = world.clock.now();
        const rows = found.map((one) => [
          shortId(one.id),
          one.scope,
          ago(one.created_at, now),
          one.name,
        ]);
        show(found, () => table(['ID', 'SCOPE', 'AGE', 'NAME'], rows));
      }),
    );

  tokens
    .command('create')
    .description('make a token and print its secret, this once')
    .argument('<name>', 'what it is for')
    .addOption(
      new Option('--scope <scope>', 'what it may do').choices(['admin', 'read']).default('admin'),
    )
    .action(
      clientAction(
        world,
        async ({ client, show }, name: string, { scope }: { scope: TokenScope }) => {
          const created = await client.call(endpoints.createToken, { body: { name, scope } });
          show(created, () => `${created.secret}\n`);
          world.stderr.write('cadre: the secret is shown this once: keep it in a safe place\n');
        },
      ),
    );

  tokens
    .command('revoke')
    .description('take a token back: requests with it are refused from now on')
    .argument(...idArgument('token'))
    .action(
      clientAction(world, async ({ client, show }, end: string) => {
        const { id: token_id } = await findToken(client, end);
        const revoked = await client.call(endpoints.deleteToken, { params: { token_id } });
        show(revoked, () => `${revoked.id} is revoked\n`);
      }),
    );
}

const allPages = (client: Client) =>
  pagesOf((query) => client.ask(endpoints.listTokens, { query }));

function findToken(client: Client, end: string): Promise<Token> {
  return findByEnd(allPages(client), end, 'token', ({ id }) => id);
}

async function allTokens(client: Client): Promise<Token[]> {
  const found: Token[] = [];
  for await (const page of allPages(client)) found.push(...page);
  return found;
}
