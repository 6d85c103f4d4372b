import path from 'node:path';
import { type Command, Option } from 'commander';
import { endpoints } from '../../api/index.ts';
import { providerId } from '../../api/provider-kinds.ts';
import type { Item, Session, Turn } from '../../api/sessions.ts';
import { shorten } from '../../lib/shorten.ts';
import { sessionArgument, sessionId, turnParams } from '../find.ts';
import { followTurn } from '../follow-turn.ts';
import { type OpenOptions, openBody, withOpenOptions } from '../open-session.ts';
import { ago, details, plain, shortId, table } from '../output.ts';
import { parseMetadata } from '../metadata.ts';
import { readPrompt } from '../prompt.ts';
import { clientAction, type World } from '../world.ts';

const turnArgument = ['[turn]', 'its id (default: the most recent one)'] as const;

/** `cadre sessions …`. */
export function sessionCommands(program: Command, world: World): void {
  const sessions = program.command('sessions').description('sessions of agents and their turns');

  withOpenOptions(sessions.command('create'))
    .description('open a session')
    .option('--metadata <json>', 'any JSON, kept with the session')
    .action(
      clientAction(
        world,
        async ({ client, show }, options: OpenOptions & { metadata?: string }) => {
          const metadata =
            options.metadata === undefined ? {} : { metadata: parseMetadata(options.metadata) };
          const session = await client.call(endpoints.createSession, {
            body: { ...openBody(options), ...metadata },
          });
          show(session, () => `${session.id}\n`);
        },
      ),
    );

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
    .addOption(new Option('--provider <provider>').choices(providerId.options))
    .option('--limit <n>', 'how many at most', Number, 100)
    .action(
      clientAction(
        world,
        async (
          { client, show },
          query: { status?: Session['status']; provider?: Session['provider']; limit: number },
        ) => {
          const found = await client.call(endpoints.listSessions, { query });
          const now = world.clock.now();
          const rows = found.map((one) => [
            shortId(one.id),
            one.provider,
            one.status,
            ago(one.updated_at, now),
            one.title ?? '-',
            one.cwd,
          ]);
          show(found, () => table(['ID', 'PROVIDER', 'STATUS', 'AGE', 'TITLE', 'CWD'], rows));
        },
      ),
    );

  sessions
    .command('get')
    .description('show a session')
    .argument(...sessionArgument)
    .action(
      clientAction(world, async ({ client, show }, id: string) => {
        const session = await client.call(endpoints.getSession, {
          params: { session_id: await sessionId(client, id) },
        });
        show(session, () => details(session));
      }),
    );

  sessions
    .command('send')
    .description('send a turn and stream what comes of it')
    .argument(...sessionArgument)
    .argument('<text>', 'what to say; - reads it from stdin')
    .option('--no-wait', 'do not wait for the turn to end')
    .option('--expect <turn>', 'refuse unless this is the most recent turn')
    .option('--permission-mode <mode>', 'for this turn only')
    .option('--model <model>', 'for this turn only')
    .option('--image <file...>', 'an image to show the agent')
    .action(
      clientAction(
        world,
        async ({ client, global, show }, id: string, text: string, options: SendOptions) => {
          const session_id = await sessionId(client, id);
          const body = {
            input: [
              { type: 'text' as const, text: await readPrompt(text, world.stdin) },
              ...(options.image ?? []).map(imageInput),
            ],
            expected_turn_id: options.expect,
            permission_mode: options.permissionMode,
            model: options.model,
          };
          const accepted = await client.call(endpoints.sendTurn, { params: { session_id }, body });
          if (options.wait) await followTurn(world, global, client, accepted);
          else show(accepted, () => `${accepted.turn_id}\n`);
        },
      ),
    );

  sessions
    .command('turns')
    .description('list the turns of a session, newest first')
    .argument(...sessionArgument)
    .option('--limit <n>', 'how many at most', Number, 100)
    .action(
      clientAction(world, async ({ client, show }, id: string, query: { limit: number }) => {
        const found = await client.call(endpoints.listTurns, {
          params: { session_id: await sessionId(client, id) },
          query,
        });
        const now = world.clock.now();
        const rows = found.map((one) => [
          one.turn_id,
          one.status,
          ago(one.accepted_at, now),
          oneLine(one),
        ]);
        show(found, () => table(['TURN', 'STATUS', 'AGE', 'SAID'], rows));
      }),
    );

  sessions
    .command('items')
    .description('show what a turn said and did, whole')
    .argument(...sessionArgument)
    .argument(...turnArgument)
    .action(
      clientAction(world, async ({ client, show }, id: string, turn: string | undefined) => {
        const found = await client.call(endpoints.listItems, {
          params: await turnParams(client, id, turn),
        });
        show(found, () => found.map(itemText).join('\n'));
      }),
    );

  sessions
    .command('item')
    .description('show one thing that a turn said or did, whole')
    .argument(...sessionArgument)
    .argument('<item>', 'its id; see cadre sessions items --json')
    .option('--turn <turn>', 'the turn it is of (default: the most recent)')
    .action(
      clientAction(
        world,
        async ({ client, show }, id: string, item_id: string, { turn }: { turn?: string }) => {
          const of = await turnParams(client, id, turn);
          const item = await client.call(endpoints.getItem, { params: { ...of, item_id } });
          show(item, () => itemText(item));
        },
      ),
    );

  sessions
    .command('interrupt')
    .description('ask for the running turn to end')
    .argument(...sessionArgument)
    .argument(...turnArgument)
    .action(
      clientAction(world, async ({ client, show }, id: string, turn: string | undefined) => {
        const asked = await client.call(endpoints.interruptTurn, {
          params: await turnParams(client, id, turn),
          body: {},
        });
        show(asked, () => `${asked.turn_id} is asked to end\n`);
      }),
    );

  sessions
    .command('close')
    .description('close a session for good')
    .argument(...sessionArgument)
    .option('--reason <text>', 'why, for the record')
    .action(
      clientAction(world, async ({ client, show }, id: string, body: { reason?: string }) => {
        const closed = await client.call(endpoints.closeSession, {
          params: { session_id: await sessionId(client, id) },
          body,
        });
        show(closed, () => `${closed.id} is closed\n`);
      }),
    );

  sessions
    .command('resume')
    .description('bring a failed session back, if its provider still has it')
    .argument(...sessionArgument)
    .action(
      clientAction(world, async ({ client, show }, id: string) => {
        const params = { session_id: await sessionId(client, id) };
        const session = await client.call(endpoints.resumeSession, { params, body: {} });
        show(session, () => `${session.id} is ${session.status}\n`);
      }),
    );
}

interface SendOptions {
  wait: boolean;
  expect?: string;
  permissionMode?: string;
  model?: string;
  image?: string[];
}

/** The server reads it, so it has to know where it is. */
function imageInput(file: string): { type: 'image'; path: string } {
  return { type: 'image', path: path.resolve(file) };
}

function itemText({ kind, status, tool, text }: Item): string {
  return `[${kind}, ${status}] ${plain(tool?.title ?? '')}\n${plain(text)}\n`;
}

/** What a turn was about, short enough for a table. */
function oneLine({ text, error }: Turn): string {
  const said = (text ?? error?.message ?? '').replaceAll(/\s+/g, ' ');
  return shorten(said, 60);
}
