import type { Command } from 'commander';
import type { RuntimeEventRecord, StreamGap } from '../../../api/events.ts';
import { endpoints } from '../../../api/index.ts';
import type { EventScope } from '../../../client/event-scope.ts';
import { seqBefore, storedEvents } from '../../../client/replay.ts';
import { type StreamOptions, streamEvents } from '../../../client/stream.ts';
import { describeGap } from '../../../client/event-summary.ts';
import { serversOf } from '../../../client/routed.ts';
import { usageError } from '../../../api/errors.ts';
import { lostText } from '../session/session-events.ts';
import { command, commandGroup } from '../command.ts';
import { descriptorOf, LogCursor } from '../cursor-file.ts';
import { eventLine } from '../event-line.ts';
import { sinceOf } from '../when.ts';
import { processId, sessionId, teamId } from '../find.ts';
import { milliseconds } from '../option-values.ts';
import { openScreen } from '../screen.ts';
import type { GlobalOptions } from '../context.ts';
import {
  clientAction,
  type CommandContext,
  type CommandIo,
  jsonFor,
  written,
} from '../command-io.ts';

export interface TailOptions {
  session?: string;
  process?: string;
  team?: string;
  node?: string;
  kind?: string[];
  afterSeq?: string;
  since?: string;
  cursorFile?: string;
  follow: boolean;
  /** In ms. */
  reconnect?: number;
}

export const eventCommands = commandGroup('events', 'Show the event log, and follow new events', [
  command({
    name: 'tail',
    description: 'Show the stored events, then follow new events',
    parameters: [
      '--session <session>  Show only events of this session',
      '--process <process>  Show only events of this process',
      '--team <team>  Show only events of this team',
      '--node <name>  Show only events of the server with this name, even if it is offline (only with several servers)',
      '--kind <kind...>  Show only events of these kinds, such as turn.completed, or turn.* for all kinds of turn events',
      '--after-seq <seq>  Show only events after the event with this sequence number (latest: show only new events)',
      '--since <time>  Show only events that are newer than a date, or than an age such as 30s, 5m, 2h or 7d',
      '--cursor-file <file>  File that stores the number of the last shown event, so that the next run continues after that event',
      '--no-follow  Exit after the newest stored event',
      {
        line: '--reconnect <duration>  Maximum time to wait for a server that is unreachable or has not started yet (default: no limit)',
        parse: milliseconds,
      },
      '--no-reconnect  Exit if the server is unreachable (the same as --reconnect 0)',
    ],
    action:
      (io) =>
      async ({ reconnect, ...others }: GivenOptions, self: Command) => {
        const limit = reconnect === false ? 0 : reconnect;
        const options = { ...others, ...(limit === undefined ? {} : { reconnect: limit }) };
        let hasBegun = false;
        const show = clientAction(io, (context) => tail(context, options, () => (hasBegun = true)));
        for (;;) {
          try {
            return await show(self);
          } catch (error) {
            if (hasBegun || !options.follow) throw error;
            const global = self.optsWithGlobals<GlobalOptions>();
            const { waitForServer } = await import('../no-server.ts');
            if (!(await waitForServer(io, global, error, limit))) return;
          }
        }
      },
  }),
]);

/** The options as commander reads them: `--no-reconnect` is false. */
type GivenOptions = Omit<TailOptions, 'reconnect'> & { reconnect?: number | false };

/** `onBegin` is called once the server has answered and the events are about to be shown. */
async function tail(
  base: CommandContext,
  options: TailOptions,
  onBegin: () => void,
): Promise<void> {
  const { io, client: all, global } = base;
  const { session, process, team, kind, cursorFile: file } = options;
  const [owner, ...others] = [session, process, team].filter((one) => one !== undefined);
  if (others.length > 0) throw usageError('pass only one of --session, --process and --team');
  const servers = serversOf(all);
  if (servers && owner === undefined) {
    onBegin();
    return (await import('../tail-all.ts')).tailAll(base, servers, options);
  }
  if (options.node !== undefined)
    throw usageError(
      '--node requires several servers, and cannot be combined with --session, --process and --team',
    );
  const scope = {
    sessionId: session === undefined ? undefined : await sessionId(all, session),
    processId: process === undefined ? undefined : await processId(all, process),
    teamId: team === undefined ? undefined : await teamId(all, team),
    kinds: kind,
  };
  const owned = scope.sessionId ?? scope.processId ?? scope.teamId;
  const client = owned === undefined ? all : await all.clientOf(owned);
  const context = { ...base, client };
  const cursor = file === undefined ? null : new LogCursor(file, descriptorOf(io.stdout));
  const reading: Reading = { ...scope, after: await startingPoint(context, options, cursor) };
  const isAsked = options.afterSeq !== undefined;
  if (options.follow) await client.call(endpoints.getVersion, {});
  onBegin();
  if (options.follow && (await watch(context, reading, isAsked, cursor))) return;
  const write = (event: RuntimeEventRecord) => {
    io.stdout.write(`${global.json ? jsonFor(io, event) : eventLine(event)}\n`);
    cursor?.moveToSeq(event.seq);
  };
  try {
    if (options.follow)
      await follow(context, { ...reading, reconnectMs: options.reconnect }, write);
    else for await (const event of stored(context, reading)) write(event);
  } finally {
    await written(io.stdout);
    cursor?.save();
  }
}

/** Shows the events on the screen. Answers false where there is no terminal for it. */
async function watch(
  context: CommandContext,
  { after, ...scope }: Reading,
  isAsked: boolean,
  cursor: LogCursor | null,
): Promise<boolean> {
  // The screen begins with the newest events, unless the options say otherwise. Older ones are read on scrolling up.
  const start = {
    page: 'tail',
    scope,
    after: after === 0 && !isAsked ? undefined : after,
    onSeq: (seq: number) => cursor?.moveToSeq(seq),
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
  { io, client }: CommandContext,
  reading: Reading & Pick<StreamOptions, 'reconnectMs'>,
  write: (event: RuntimeEventRecord) => void,
): Promise<void> {
  const signal = io.interrupted();
  const events = streamEvents({
    client,
    clock: io.clock,
    ...reading,
    signal,
    onGap: (gap) => reportGap(io, gap),
    onConnection: (state) =>
      io.stderr.write(
        state.lost ? lostText(state.error) : `cadre: reconnected after event ${state.after}\n`,
      ),
  });
  for await (const event of events) write(event);
  if (signal.aborted) io.exit(Number(signal.reason));
}

function stored({ io, client }: CommandContext, { after, ...scope }: Reading) {
  return after === 'latest' ? [] : storedEvents(client, scope, after, (gap) => reportGap(io, gap));
}

function reportGap({ stderr }: CommandIo, gap: StreamGap): void {
  stderr.write(`cadre: ${describeGap(gap)}\n`);
}

/** The seq to begin after: the cursor's, else the one of the options, else 0 for the whole log. */
async function startingPoint(
  { io, client }: CommandContext,
  { afterSeq, since }: TailOptions,
  cursor: LogCursor | null,
): Promise<number | 'latest'> {
  if (afterSeq !== undefined && since !== undefined)
    throw usageError('pass either --after-seq or --since, not both');
  const { epoch } = cursor ? await client.call(endpoints.getVersion, {}) : { epoch: '' };
  const saved = cursor?.start(epoch) ?? null;
  if (saved !== null) return saved;
  if (since !== undefined) return seqBefore(client, sinceOf(since, io.clock.now()));
  if (afterSeq === undefined) return 0;
  if (afterSeq === 'latest') return afterSeq;
  if (/^\d{1,16}$/.test(afterSeq)) return Number(afterSeq);
  throw usageError(`invalid --after-seq "${afterSeq}": expected a sequence number, or latest`);
}
