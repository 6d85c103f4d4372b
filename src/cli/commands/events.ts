import type { Command } from 'commander';
import type { RuntimeEventRecord } from '../../api/events.ts';
import { endpoints } from '../../api/index.ts';
import type { Client } from '../../client/client.ts';
import type { EventScope } from '../../client/event-scope.ts';
import { replay } from '../../client/replay.ts';
import { type StreamOptions, streamEvents } from '../../client/stream.ts';
import { describeGap, telling } from '../../client/telling.ts';
import { AppError } from '../../errors.ts';
import { parseDuration } from '../../lib/duration.ts';
import { shorten } from '../../lib/shorten.ts';
import { CursorFile } from '../cursor-file.ts';
import { processId, sessionId, teamId } from '../find.ts';
import { shortId } from '../output.ts';
import { milliseconds } from '../milliseconds.ts';
import { openScreen } from '../screen.ts';
import { clientAction, type CommandContext, type World } from '../world.ts';

interface TailOptions {
  session?: string;
  process?: string;
  team?: string;
  kind?: string[];
  afterSeq?: string;
  since?: string;
  cursorFile?: string;
  follow: boolean;
  /** In ms. */
  reconnect?: number;
}

/** `cadre events tail`. */
export function eventCommands(program: Command, world: World): void {
  program
    .command('events')
    .description('the log of everything that happens')
    .command('tail')
    .description('show events, stored ones first, then live ones')
    .option('--session <session>', 'only of this session')
    .option('--process <process>', 'only of this process')
    .option('--team <team>', 'only of this team')
    .option('--kind <kind...>', 'only of these kinds: turn.completed, or all of a group as turn.*')
    .option('--after-seq <seq>', 'only after this event; "latest": only what is new')
    .option('--since <time>', 'only what is newer: 30s, 5m, 2h, 7d, or a date')
    .option('--cursor-file <file>', 'go on where the last run with this file stopped')
    .option('--no-follow', 'end with the newest stored event')
    .option(
      '--reconnect <duration>',
      'how long to look for a server that is gone (default: for ever)',
      milliseconds,
    )
    .action(clientAction(world, tail));
}

async function tail(context: CommandContext, options: TailOptions): Promise<void> {
  const { world, client, global } = context;
  const { session, process, team, kind, cursorFile: file } = options;
  if ([session, process, team].filter((one) => one !== undefined).length > 1)
    throw new AppError('usage', 'give --session, --process or --team, not several of them');
  const cursor = file === undefined ? null : new CursorFile(file, descriptorOf(world.stdout));
  const reading: Reading = {
    sessionId: session === undefined ? undefined : await sessionId(client, session),
    processId: process === undefined ? undefined : await processId(client, process),
    teamId: team === undefined ? undefined : await teamId(client, team),
    kinds: kind,
    after: await startingPoint(context, options, cursor),
  };
  const isAsked = options.afterSeq !== undefined;
  if (options.follow && (await watch(context, reading, isAsked, cursor))) return;
  const write = (event: RuntimeEventRecord) => {
    world.stdout.write(`${global.json ? JSON.stringify(event) : line(event)}\n`);
    cursor?.moveTo(event.seq);
  };
  try {
    if (options.follow)
      await follow(context, { ...reading, reconnectMs: options.reconnect }, write);
    else for await (const event of stored(context, reading)) write(event);
  } finally {
    cursor?.save();
  }
}

/** Shows the events on the screen. Answers false where there is no terminal for it. */
async function watch(
  context: CommandContext,
  { after, ...scope }: Reading,
  isAsked: boolean,
  cursor: CursorFile | null,
): Promise<boolean> {
  // The screen begins with the newest events, unless the options say otherwise. Older ones are read on scrolling up.
  const start = {
    page: 'tail',
    scope,
    after: after === 0 && !isAsked ? undefined : after,
    onSeq: (seq: number) => cursor?.moveTo(seq),
  } as const;
  try {
    return await openScreen(context, start);
  } finally {
    cursor?.save();
  }
}

/** The scope of the log that is read, and the seq to begin after. */
interface Reading extends EventScope {
  after: number | 'latest';
}

async function follow(
  { world, client }: CommandContext,
  reading: Reading & Pick<StreamOptions, 'reconnectMs'>,
  write: (event: RuntimeEventRecord) => void,
): Promise<void> {
  const signal = world.interrupted();
  const events = streamEvents({
    client,
    clock: world.clock,
    ...reading,
    signal,
    onGap: (gap) => world.stderr.write(`cadre: ${describeGap(gap)}\n`),
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

/** The events that are stored now, read page by page. */
async function* stored(
  { world, client }: CommandContext,
  { after: from, ...scope }: Reading,
): AsyncGenerator<RuntimeEventRecord> {
  if (from === 'latest') return;
  let after: number = from;
  let trimmed = 0;
  for (;;) {
    const { value, headers } = await replay(client, scope, { after_seq: after, limit: 10_000 });
    const gone = Number(headers['x-trimmed-seq'] ?? 0);
    if (gone > trimmed)
      world.stderr.write(
        `cadre: ${describeGap({ requested: after, trimmed_seq: gone, latest_seq: gone })}\n`,
      );
    trimmed = gone;
    yield* value;
    const next = headers['x-next-after-seq'];
    if (next === undefined) return;
    after = Number(next);
  }
}

/** The seq to begin after: the cursor's, else the one of the options, else 0 for the whole log. */
async function startingPoint(
  { world, client }: CommandContext,
  { afterSeq, since }: TailOptions,
  cursor: CursorFile | null,
): Promise<number | 'latest'> {
  if (afterSeq !== undefined && since !== undefined)
    throw new AppError('usage', 'give --after-seq or --since, not both');
  const { epoch } = cursor ? await client.call(endpoints.getVersion, {}) : { epoch: '' };
  const saved = cursor?.start(epoch) ?? null;
  if (saved !== null) return saved;
  if (since !== undefined) return seqBefore(client, timeOf(since, world.clock.now()));
  if (afterSeq === undefined) return 0;
  if (afterSeq === 'latest') return afterSeq;
  if (/^\d{1,16}$/.test(afterSeq)) return Number(afterSeq);
  throw new AppError('usage', `--after-seq "${afterSeq}" is not a number: give a seq, or latest`);
}

/** The Unix milliseconds of a date, or of a duration before `now`. Throws `usage` for any other text. */
function timeOf(text: string, now: number): number {
  const ago = parseDuration(text);
  if (ago !== null) return now - ago;
  const date = Date.parse(text);
  if (!Number.isNaN(date)) return date;
  throw new AppError('usage', `--since "${text}" is no time: give 30s, 5m, 2h, 7d, or a date`);
}

/** The last seq before the first event that is not older than `time`, found by binary search with one event a step. */
async function seqBefore(client: Client, time: number): Promise<number> {
  const first = async (after_seq: number) =>
    client.ask(endpoints.replayEvents, { query: { after_seq, limit: 1 } });
  let low = 0;
  let high = Number((await first(0)).headers['x-seq'] ?? 0);
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    const [event] = (await first(middle)).value;
    if (event && event.created_at < time) low = event.seq;
    else high = middle;
  }
  return low;
}

/** The descriptor of an output; null for a stream without one. */
function descriptorOf(output: NodeJS.WritableStream): number | null {
  return 'fd' in output && typeof output.fd === 'number' ? output.fd : null;
}

/** One event as a line of text. */
function line(event: RuntimeEventRecord): string {
  const { seq, kind, session_id, process_id, team_id, created_at } = event;
  const said = telling(event);
  const cut = shorten(said, LINE_CHARACTERS);
  const time = new Date(created_at).toISOString().slice(11, 23);
  const whose = session_id ?? process_id ?? team_id;
  const who = whose ? shortId(whose) : '-'.padEnd(8);
  return `${String(seq).padStart(6)}  ${time}  ${who}  ${kind.padEnd(20)}  ${cut}`.trimEnd();
}

const LINE_CHARACTERS = 100;
