import { endpoints } from '../../../api/index.ts';
import type { SessionQueue } from '../../../api/queue.ts';
import { AppError } from '../../../api/errors.ts';
import { oneLine } from '../../../core/lib/plain.ts';
import { choose } from '../choose.ts';
import { commandGroup, endpointCommand } from '../endpoint-command.ts';
import { entryArgument, entryId, sessionId } from '../find.ts';
import { details } from '../output.ts';
import { entry, entryAs, limit, sessionAs } from '../parameters.ts';
import { inOrder, entryStateText, queueTable } from '../queue-text.ts';
import { momentOf, momentText, zoneOf } from '../when.ts';
import { clientAction, type CommandContext, type World } from '../world.ts';
import { queueEdit } from './queue-edit.ts';

/** `cadre queue …`: what becomes a turn later. */
export const queueCommands = commandGroup('queue', 'what becomes a turn of a session later', [
  endpointCommand({
    name: 'list',
    description: 'list what waits in the queues of sessions, in their order',
    endpoint: endpoints.listQueue,
    options: [
      sessionAs('session_id', '--session <session>', 'only of this session'),
      { flags: '-s, --status <status>', field: 'status' },
      limit,
    ],
    document: inOrder,
    empty: 'nothing is queued: cadre sessions send SESSION --queue TEXT adds something',
    print: (found, call) => queueTable(inOrder(found), call),
  }),
  endpointCommand({
    name: 'show',
    description: 'show an entry with all that it says',
    endpoint: endpoints.getQueueEntry,
    operands: [entry],
    print: details,
  }),
  queueEdit,
  endpointCommand({
    name: 'move',
    description: 'give an entry another place in the queue of its session',
    endpoint: endpoints.moveQueueEntry,
    operands: [entry],
    options: [
      entryAs('before', '--before <entry>', 'before this one'),
      {
        flags: '--first',
        description: 'before all others',
        read: (_, { fields }) => placeAt('first', fields),
      },
      {
        flags: '--last',
        description: 'behind all others; also without an option',
        read: (_, { fields }) => placeAt('last', fields),
      },
    ],
    print: ({ entries }, call) => queueTable(entries, call),
  }),
  (queue, world) =>
    queue
      .command('pause')
      .description(
        'let an entry, or all that waits for a session, become no turn until it is resumed',
      )
      .argument(`[${entryArgument[0].slice(1, -1)}]`, entryArgument[1])
      .option('--session <session>', 'all that waits for this session; a running turn goes on')
      .option('--until <time>', 'with --session: 18:00, +2h or an ISO time, when the pause ends')
      .option('--zone <zone>', 'the time zone of --until (default: that of this machine)')
      .option('--reason <text>', 'why, for the record')
      .action(clientAction(world, pause)),
  (queue, world) =>
    queue
      .command('resume')
      .description('end the pause of an entry, or of a session')
      .argument(`[${entryArgument[0].slice(1, -1)}]`, entryArgument[1])
      .option('--session <session>', 'of this session; also the rest after an interrupt')
      .action(clientAction(world, resume)),
  (queue, world) =>
    queue
      .command('drop')
      .description('take an entry out of the queue')
      .argument(...entryArgument)
      .option('--yes', 'without asking')
      .action(clientAction(world, drop)),
]);

function placeAt(to: 'first' | 'last', { before, to: earlier }: Readonly<Record<string, unknown>>) {
  if (before === undefined && earlier === undefined) return { to };
  throw new AppError('usage', 'give one of --before, --first and --last');
}

interface PauseOptions {
  session?: string;
  until?: string;
  zone?: string;
  reason?: string;
}

async function pause(context: CommandContext, said: string | undefined, options: PauseOptions) {
  const { client, show, world } = context;
  const now = world.clock.now();
  const { session, reason, until } = options;
  assertOne(said, session);
  if (options.zone !== undefined && until === undefined)
    throw new AppError('usage', 'give --zone with --until');
  if (session !== undefined) {
    const params = { session_id: await sessionId(client, session) };
    const end = until === undefined ? undefined : momentOf(until, now, zoneOf(options.zone));
    const body = { reason, until: end };
    const queue = await client.call(endpoints.pauseSessionQueue, { params, body });
    return show(queue, () => holdsText(queue, now, options.zone));
  }
  if (until !== undefined) throw new AppError('usage', 'give --until with --session');
  const params = { entry_id: await entryId(client, said ?? '') };
  const paused = await client.call(endpoints.pauseQueueEntry, { params, body: { reason } });
  show(paused, () => entryStateText(paused, now));
}

async function resume(
  { client, show, world }: CommandContext,
  said: string | undefined,
  { session }: { session?: string },
) {
  const now = world.clock.now();
  assertOne(said, session);
  if (session !== undefined) {
    const params = { session_id: await sessionId(client, session) };
    const queue = await client.call(endpoints.resumeSessionQueue, { params, body: {} });
    return show(queue, () => holdsText(queue, now));
  }
  const params = { entry_id: await entryId(client, said ?? '') };
  const resumed = await client.call(endpoints.resumeQueueEntry, { params, body: {} });
  show(resumed, () => entryStateText(resumed, now));
}

async function drop(
  { client, show, world }: CommandContext,
  said: string,
  { yes }: { yes?: boolean },
) {
  const params = { entry_id: await entryId(client, said) };
  if (yes !== true)
    await confirmDrop(
      world,
      (await client.call(endpoints.getQueueEntry, { params })).name ?? params.entry_id,
    );
  const dropped = await client.call(endpoints.dropQueueEntry, { params });
  show(dropped, () => `${dropped.id} is out of the queue\n`);
}

async function confirmDrop(world: World, label: string): Promise<void> {
  const question = `take "${oneLine(label)}" out of the queue? What it says is gone then.`;
  const answer = await choose(world, question, ['drop it', 'keep it'], (one) => one);
  if (answer === 'drop it') return;
  throw answer === null
    ? new AppError('usage', 'stdin or stderr is no terminal, so nobody can be asked: pass --yes')
    : new AppError('usage', 'nothing was dropped');
}

function assertOne(entryId: string | undefined, session: string | undefined): void {
  if ((entryId === undefined) === (session === undefined))
    throw new AppError('usage', 'name an entry, or a session with --session');
}

function holdsText({ session_id, holds }: SessionQueue, now: number, zone?: string): string {
  if (holds.length === 0) return `the queue of ${session_id} goes on\n`;
  return holds
    .map(({ message, until }) => {
      const end = until === null ? '' : ` until ${momentText(until, now, zoneOf(zone))}`;
      return `the queue of ${session_id} is held${end}: ${oneLine(message)}\n`;
    })
    .join('');
}
