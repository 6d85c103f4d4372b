import { type Command, Option } from 'commander';
import type { Session } from '../../api/sessions.ts';
import { endpoints } from '../../api/index.ts';
import type { Client } from '../../client/client.ts';
import { AppError } from '../../errors.ts';
import type { GlobalOptions } from '../context.ts';
import { followTurn } from '../follow-turn.ts';
import { ago, details, shortId, table } from '../output.ts';
import { readPrompt } from '../prompt.ts';
import { show, type World } from '../world.ts';

/** The options that open a session. */
export interface OpenOptions {
  provider: Session['provider'];
  model?: string;
  cwd?: string;
  permissionMode?: string;
  title?: string;
}

/** `cadre sessions …`. */
export function sessionCommands(program: Command, world: World): void {
  const sessions = program.command('sessions').description('sessions of agents and their turns');

  withOpenOptions(sessions.command('create'))
    .description('open a session')
    .option('--metadata <json>', 'any JSON, kept with the session')
    .action(async (options: OpenOptions & { metadata?: string }, command: Command) => {
      const global = command.optsWithGlobals<GlobalOptions>();
      const client = await world.connect(global);
      const metadata =
        options.metadata === undefined ? {} : { metadata: parseJson(options.metadata) };
      const session = await client.call(endpoints.createSession, {
        body: { ...openBody(options), ...metadata },
      });
      show(world, global, session, () => `${session.id}\n`);
      client.close();
    });

  sessions
    .command('list')
    .description('list sessions, newest first')
    .addOption(
      new Option('--status <status>').choices([
        'ready',
        'running',
        'waiting_for_approval',
        'closed',
        'failed',
      ]),
    )
    .addOption(new Option('--provider <provider>').choices(['codex', 'claude', 'acp']))
    .option('--limit <n>', 'how many at most', Number, 100)
    .action(
      async (
        options: { status?: Session['status']; provider?: Session['provider']; limit: number },
        command: Command,
      ) => {
        const global = command.optsWithGlobals<GlobalOptions>();
        const client = await world.connect(global);
        const { status, provider, limit } = options;
        const found = await client.call(endpoints.listSessions, {
          query: { status, provider, limit },
        });
        const now = world.clock.now();
        const rows = found.map((one) => [
          shortId(one.id),
          one.provider,
          one.status,
          ago(one.updated_at, now),
          one.title ?? '-',
          one.cwd,
        ]);
        show(world, global, found, () =>
          table(['ID', 'PROVIDER', 'STATUS', 'AGE', 'TITLE', 'CWD'], rows),
        );
        client.close();
      },
    );

  sessions
    .command('get')
    .description('show a session')
    .argument('<session>', 'its id, or the last 6 or more characters of it')
    .action(async (id: string, _options: object, command: Command) => {
      const global = command.optsWithGlobals<GlobalOptions>();
      const client = await world.connect(global);
      const session = await client.call(endpoints.getSession, {
        params: { session_id: await wholeId(client, id) },
      });
      show(world, global, session, () => details(session));
      client.close();
    });

  sessions
    .command('send')
    .description('send a turn and stream what comes of it')
    .argument('<session>', 'its id, or the last 6 or more characters of it')
    .argument('<text>', 'what to say; - reads it from stdin')
    .option('--no-wait', 'do not wait for the turn to end')
    .option('--expect <turn>', 'refuse unless this is the most recent turn')
    .action(
      async (
        id: string,
        text: string,
        options: { wait: boolean; expect?: string },
        command: Command,
      ) => {
        const global = command.optsWithGlobals<GlobalOptions>();
        const client = await world.connect(global);
        const input = [{ type: 'text' as const, text: await readPrompt(text, world.stdin) }];
        const session_id = await wholeId(client, id);
        const accepted = await client.call(endpoints.sendTurn, {
          params: { session_id },
          body: {
            input,
            ...(options.expect === undefined ? {} : { expected_turn_id: options.expect }),
          },
        });
        if (options.wait) await followTurn(world, global, client, accepted);
        else show(world, global, accepted, () => `${accepted.turn_id}\n`);
        client.close();
      },
    );
}

/** Adds the options that open a session. */
export function withOpenOptions(command: Command): Command {
  return command
    .addOption(
      new Option('--provider <provider>', 'whose agent')
        .choices(['codex', 'claude', 'acp'])
        .default('acp'),
    )
    .option('--model <model>', 'a model of the provider')
    .option('--cwd <directory>', 'where the agent works (default: here)')
    .option('--permission-mode <mode>', 'what the agent may do without asking')
    .option('--title <title>', 'a name for people');
}

/** The request that the options mean. The agent works where the command was called, not where the server was. */
export function openBody({ provider, model, cwd, permissionMode, title }: OpenOptions) {
  return { provider, model, cwd: cwd ?? process.cwd(), permission_mode: permissionMode, title };
}

/** The whole id behind its last characters. Throws `not_found`, or `usage` where several end so. */
export async function wholeId(client: Client, end: string): Promise<string> {
  if (/^sess_[0-9a-f]{32}$/.test(end)) return end;
  if (end.length < 6)
    throw new AppError(
      'usage',
      `"${end}" is too short: give the last 6 characters of an id, or more`,
    );
  const found: string[] = [];
  let cursor: string | undefined;
  do {
    const { value, headers } = await client.ask(endpoints.listSessions, {
      query: { limit: 500, cursor },
    });
    found.push(...value.map(({ id }) => id).filter((id) => id.endsWith(end)));
    cursor = headers['x-next-cursor'] as string | undefined;
  } while (cursor !== undefined);
  const [only, ...others] = found;
  if (only === undefined)
    throw new AppError('not_found', `no session ends with "${end}"; see cadre sessions list`);
  if (others.length > 0)
    throw new AppError('usage', `several sessions end with "${end}": ${found.join(', ')}`);
  return only;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new AppError('usage', `--metadata is not valid JSON: ${(error as Error).message}`);
  }
}
