import { endpoints } from '../../../api/index.ts';
import type { Token } from '../../../api/tokens.ts';
import { AppError } from '../../../api/errors.ts';
import { parseDuration } from '../../../core/lib/duration.ts';
import { commandGroup, endpointCommand } from '../endpoint-command.ts';
import { tokens } from '../nouns.ts';
import { ago, listOf, shortId } from '../output.ts';
import { token } from '../parameters.ts';
import { clientAction, type CommandContext } from '../world.ts';

/** `cadre tokens …`: the tokens beside the API token. */
export const tokenCommands = commandGroup('tokens', 'tokens for other programs', [
  (parent, world) =>
    parent
      .command('list')
      .description('list tokens, newest first')
      .action(clientAction(world, list)),
  endpointCommand({
    name: 'create',
    description: 'make a token and print its secret, this once',
    endpoint: endpoints.createToken,
    operands: [{ flags: '<name>', description: 'what it is for', field: 'name' }],
    options: [
      {
        flags: '--scope <scope>',
        description: 'what it may do: everything, read, or call tools alone',
        field: 'scope',
        default: 'admin',
      },
      {
        flags: '--permission-mode <mode>',
        description:
          'of the scope tools: whether it may run commands without a session (full_access)',
        field: 'permission_mode',
      },
      {
        flags: '--expires <time>',
        description: 'how long it is good: 12h, 30d; without it, until it is revoked',
        read: (time: string) => ({ expires_in_ms: lifetimeOf(time) }),
      },
    ],
    print: ({ secret }) => `${secret}\n`,
    after: (_created, { stderr }) =>
      void stderr.write('cadre: the secret is shown this once: keep it in a safe place\n'),
  }),
  endpointCommand({
    name: 'revoke',
    description: 'take a token back: its streams end, and requests with it are refused',
    endpoint: endpoints.deleteToken,
    operands: [token],
    print: ({ id }) => `${id} is revoked\n`,
  }),
]);

async function list({ world, client, show, note, layout }: CommandContext): Promise<void> {
  const found: Token[] = [];
  for await (const page of tokens.all(client)) found.push(...page);
  show(found, () => tokenTable(found, { now: world.clock.now(), layout }));
  if (found.length === 0) note('no tokens yet: make one with cadre tokens create NAME');
}

const tokenTable = listOf<Token>(['ID', 'SCOPE', 'AGE', 'USED', 'EXPIRES', 'NAME'], (one, now) => [
  shortId(one.id),
  one.scope,
  ago(one.created_at, now),
  one.last_used_at === null ? '-' : ago(one.last_used_at, now),
  expiry(one, now),
  one.name,
]);

/** The time until a token expires, as text. */
function expiry({ expires_at }: Token, now: number): string {
  if (expires_at === null) return 'never';
  return expires_at <= now ? 'expired' : `in ${ago(now, expires_at)}`;
}

/** The milliseconds of a duration. Throws `usage` for any other text. */
function lifetimeOf(text: string): number {
  const lifetime = parseDuration(text);
  if (lifetime !== null && lifetime > 0) return lifetime;
  throw new AppError('usage', `--expires "${text}" is no time: give 90s, 30m, 12h or 30d`);
}
