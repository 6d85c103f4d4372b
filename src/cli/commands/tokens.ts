import { type Command, Option } from 'commander';
import { endpoints } from '../../api/index.ts';
import { type Token, type TokenScope, tokenScope } from '../../api/tokens.ts';
import type { Client } from '../../client/client.ts';
import { AppError } from '../../errors.ts';
import { durationOf } from '../duration.ts';
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
          expiry(one, now),
          one.name,
        ]);
        show(found, () => table(['ID', 'SCOPE', 'AGE', 'EXPIRES', 'NAME'], rows));
      }),
    );

  tokens
    .command('create')
    .description('make a token and print its secret, this once')
    .argument('<name>', 'what it is for')
    .addOption(
      new Option('--scope <scope>', 'what it may do: everything, read, or call tools alone')
        .choices(tokenScope.options)
        .default('admin'),
    )
    .option('--expires <time>', 'how long it is good: 12h, 30d; without it, until it is revoked')
    .action(
      clientAction(
        world,
        async ({ client, show }, name: string, { scope, expires }: CreateOptions) => {
          const expires_in_ms = expires === undefined ? null : lifeOf(expires);
          const body = { name, scope, expires_in_ms };
          const created = await client.call(endpoints.createToken, { body });
          show(created, () => `${created.secret}\n`);
          world.stderr.write('cadre: the secret is shown this once: keep it in a safe place\n');
        },
      ),
    );

  tokens
    .command('revoke')
    .description('take a token back: its streams end, and requests with it are refused')
    .argument(...idArgument('token'))
    .action(
      clientAction(world, async ({ client, show }, end: string) => {
        const { id: token_id } = await findToken(client, end);
        const revoked = await client.call(endpoints.deleteToken, { params: { token_id } });
        show(revoked, () => `${revoked.id} is revoked\n`);
      }),
    );
}

interface CreateOptions {
  scope: TokenScope;
  expires?: string;
}

/** Milliseconds. Throws `usage` for what is no time. */
function lifeOf(text: string): number {
  const life = durationOf(text);
  if (life !== null && life > 0) return life;
  throw new AppError('usage', `--expires "${text}" is no time: give 90s, 30m, 12h or 30d`);
}

/** When a token expires, from now on. */
function expiry({ expires_at }: Token, now: number): string {
  if (expires_at === null) return 'never';
  return expires_at <= now ? 'expired' : `in ${ago(now, expires_at)}`;
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
