import type { Command } from 'commander';
import type { RuntimeEventRecord } from '../../api/events.ts';
import { endpoints } from '../../api/index.ts';
import type { Client } from '../../client/client.ts';
import { streamEvents } from '../../client/stream.ts';
import { AppError } from '../../errors.ts';
import { sessionId } from '../find.ts';
import { plain, shortId } from '../output.ts';
import { clientAction, type World } from '../world.ts';

/** `cadre events tail`. */
export function eventCommands(program: Command, world: World): void {
  program
    .command('events')
    .description('the log of everything that happens')
    .command('tail')
    .description('show events, stored ones first, then live ones')
    .option('--session <session>', 'only of this session')
    .option('--after-seq <seq>', 'only after this event; "latest": only what is new', '0')
    .option('--no-follow', 'end with the newest stored event')
    .action(
      clientAction(
        world,
        async (
          { client, global },
          options: { session?: string; afterSeq: string; follow: boolean },
        ) => {
          const session =
            options.session === undefined ? undefined : await sessionId(client, options.session);
          const after = startingPoint(options.afterSeq);
          const write = (event: RuntimeEventRecord) =>
            world.stdout.write(`${global.json ? JSON.stringify(event) : line(event)}\n`);
          if (options.follow) await follow(world, client, session, after, write);
          else for await (const event of stored(client, session, after)) write(event);
        },
      ),
    );
}

async function follow(
  world: World,
  client: Client,
  session: string | undefined,
  after: number | 'latest',
  write: (event: RuntimeEventRecord) => void,
): Promise<void> {
  const signal = world.interrupted();
  const events = streamEvents({
    client,
    clock: world.clock,
    sessionId: session,
    after,
    signal,
    onConnection: (state) =>
      world.stderr.write(
        state.lost
          ? 'cadre: the connection was lost: trying again\n'
          : `cadre: connected again, after ${state.after}\n`,
      ),
  });
  for await (const event of events) write(event);
  if (signal.aborted) world.exit(Number(signal.reason));
}

/** What is stored just now, page by page. */
async function* stored(
  client: Client,
  session: string | undefined,
  from: number | 'latest',
): AsyncGenerator<RuntimeEventRecord> {
  if (from === 'latest') return;
  let after: number = from;
  for (;;) {
    const query = { after_seq: after, limit: 10_000 };
    const { value, headers } =
      session === undefined
        ? await client.ask(endpoints.replayEvents, { query })
        : await client.ask(endpoints.replaySessionEvents, {
            params: { session_id: session },
            query,
          });
    yield* value;
    const next = headers['x-next-after-seq'];
    if (next === undefined) return;
    after = Number(next);
  }
}

function startingPoint(text: string): number | 'latest' {
  if (text === 'latest') return text;
  if (/^\d{1,16}$/.test(text)) return Number(text);
  throw new AppError('usage', `--after-seq "${text}" is not a number: give a seq, or latest`);
}

/** One event as a line for people. */
function line({ seq, kind, session_id, created_at, payload }: RuntimeEventRecord): string {
  const time = new Date(created_at).toISOString().slice(11, 23);
  const who = session_id ? shortId(session_id) : '-'.padEnd(8);
  return `${String(seq).padStart(6)}  ${time}  ${who}  ${kind.padEnd(20)}  ${summary(payload)}`.trimEnd();
}

const LINE_CHARACTERS = 100;

/** The parts of any payload that are worth a line. */
interface Telling {
  text?: string;
  status?: string;
  tool?: { title: string };
  turn?: { error: { message: string } | null };
  session?: { cwd: string; failure: { message: string } | null };
}

/** The most telling part of a payload, in one line. */
function summary(payload: Record<string, unknown>): string {
  const { text, status, tool, turn, session } = payload as Telling;
  const said = tool
    ? `${status ?? ''} ${tool.title}`
    : (text ?? turn?.error?.message ?? session?.failure?.message ?? session?.cwd);
  const flat = plain(said ?? '')
    .replaceAll(/\s+/g, ' ')
    .trim();
  return flat.length > LINE_CHARACTERS ? `${flat.slice(0, LINE_CHARACTERS - 1)}…` : flat;
}
