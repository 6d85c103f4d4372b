import { endpoints } from '../../../api/index.ts';
import type { SessionQueue } from '../../../api/queue.ts';
import { usageError } from '../../../api/errors.ts';
import { oneLine } from '../../../core/lib/plain.ts';
import { confirmChoice } from '../choose.ts';
import { clientCommand, command, commandGroup, optional } from '../command.ts';
import { endpointCommand } from '../endpoint-command.ts';
import { entryArgument, entryId, sessionId, sessionArgument } from '../find.ts';
import { details, labelOf } from '../output.ts';
import { entry, entryAs, limit, sessionAs } from '../parameters.ts';
import { inOrder, entryStateText, queueTable } from '../queue-text.ts';
import { momentOf, momentText, zoneOf } from '../when.ts';
import { clientAction } from '../command-io.ts';
import type { Command } from 'commander';
import { addToQueue, timeOptions, type TimeOptions, timesOf } from '../queue-times.ts';
import { promptParameters, readInput } from '../session/prompt.ts';
import { type TurnSettingOptions, turnSettingOptions } from '../turn-settings.ts';

export const queueCommands = commandGroup(
  'queue',
  'Manage prompts that are sent later or on a schedule',
  [
    // The same as `cadre sessions send --queue`.
    command({
      name: 'add',
      description: 'Queue a prompt to send when the session is idle, or at a set time',
      parameters: [sessionArgument, ...promptParameters, ...turnSettingOptions, ...timeOptions],
      action:
        (io) => async (reference: string, words: string[], options: AddOptions, self: Command) => {
          const input = await readInput(words, options, io);
          await clientAction(io, (context) => addToQueue(context, reference, input, options))(self);
        },
    }),
    endpointCommand({
      name: 'list',
      description: 'List queue entries (prompts that are sent later), in queue order',
      endpoint: endpoints.listQueue,
      parameters: [
        sessionAs('session_id', '--session <session>  Show only queue entries of this session'),
        '-s, --status <status>  Show only queue entries with this status',
        limit,
      ],
      document: inOrder,
      empty: 'no queue entries: add an entry with cadre queue add SESSION TEXT',
      isList: true,
      print: (found, call) => queueTable(inOrder(found), call),
    }),
    endpointCommand({
      name: 'show',
      description: 'Show a queue entry with its full text',
      endpoint: endpoints.getQueueEntry,
      parameters: [entry],
      print: details,
    }),
    clientCommand({
      name: 'edit',
      description: 'Change the text, due time or name of a queue entry',
      parameters: [
        entryArgument,
        '[text...]  New text of the queued prompt',
        ...timeOptions,
        '--now  Remove the due time, so that the prompt is sent as soon as the session is idle',
        '--model <model>  Model for the turns that the queue entry starts',
      ],
      async run(
        { client, show, io },
        reference: string,
        words: readonly string[],
        options: EditOptions,
      ) {
        const now = io.clock.now();
        const { now: isNow, name, reason, overlap, model } = options;
        if (isNow && (options.at !== undefined || options.every !== undefined))
          throw usageError('pass only one of --now, --at and --every');
        const text = words.join(' ');
        if (text === '' && Object.keys(options).length === 0)
          throw usageError('there is nothing to change: pass a text, or an option such as --at');
        const body = {
          ...(text === '' ? {} : { input: { type: 'text' as const, text } }),
          ...(isNow ? { at: null, every: null } : timesOf(options, now)),
          name,
          reason,
          overlap,
          model,
        };
        const params = { entry_id: await entryId(client, reference) };
        const edited = await client.call(endpoints.editQueueEntry, { params, body });
        show(edited, () => entryStateText(edited, now));
      },
    }),
    endpointCommand({
      name: 'move',
      description: 'Move a queue entry within the queue of the session',
      endpoint: endpoints.moveQueueEntry,
      parameters: [
        entry,
        entryAs(
          'before',
          '--before <entry>  Move the entry to the position before this queue entry',
        ),
        {
          line: '--first  Move the entry to the front of the queue',
          read: (_, { fields }) => positionAt('first', fields),
        },
        {
          line: '--last  Move the entry to the end of the queue (default)',
          read: (_, { fields }) => positionAt('last', fields),
        },
      ],
      print: ({ entries }, call) => queueTable(entries, call),
    }),
    clientCommand({
      name: 'pause',
      description: 'Pause a queue entry, or the whole queue of a session',
      parameters: [
        optional(entryArgument),
        '--session <session>  Pause the whole queue of this session (a running turn continues)',
        "--until <time>  Time at which the session's queue resumes: 18:00, +2h or an ISO time (only with --session)",
        '--zone <zone>  Time zone for --until (default: time zone of this machine)',
        '--reason <text>  Reason for the pause (cadre stores the reason)',
      ],
      async run(context, reference: string | undefined, options: PauseOptions) {
        const { client, show, io } = context;
        const now = io.clock.now();
        const { session, reason, until } = options;
        assertOne(reference, session);
        if (options.zone !== undefined && until === undefined)
          throw usageError('--zone requires --until');
        if (session !== undefined) {
          const params = { session_id: await sessionId(client, session) };
          const end = until === undefined ? undefined : momentOf(until, now, zoneOf(options.zone));
          const body = { reason, until: end };
          const queue = await client.call(endpoints.pauseSessionQueue, { params, body });
          return show(queue, () => holdsText(queue, now, options.zone));
        }
        if (until !== undefined) throw usageError('--until requires --session');
        const params = { entry_id: await entryId(client, reference ?? '') };
        const paused = await client.call(endpoints.pauseQueueEntry, { params, body: { reason } });
        show(paused, () => entryStateText(paused, now));
      },
    }),
    clientCommand({
      name: 'resume',
      description: 'Resume a queue entry, or the whole queue of a session',
      parameters: [
        optional(entryArgument),
        '--session <session>  Resume the whole queue of this session, even if the interrupt of a turn paused the queue',
      ],
      async run(
        { client, show, io },
        reference: string | undefined,
        { session }: { session?: string },
      ) {
        const now = io.clock.now();
        assertOne(reference, session);
        if (session !== undefined) {
          const params = { session_id: await sessionId(client, session) };
          const queue = await client.call(endpoints.resumeSessionQueue, { params, body: {} });
          return show(queue, () => holdsText(queue, now));
        }
        const params = { entry_id: await entryId(client, reference ?? '') };
        const resumed = await client.call(endpoints.resumeQueueEntry, { params, body: {} });
        show(resumed, () => entryStateText(resumed, now));
      },
    }),
    clientCommand({
      name: 'remove',
      alias: 'drop',
      description: 'Remove an entry from the queue of a session',
      parameters: [entryArgument, '--yes  Remove the queue entry without asking for confirmation'],
      async run({ client, show, io }, reference: string, { yes }: { yes?: boolean }) {
        const params = { entry_id: await entryId(client, reference) };
        if (yes !== true) {
          const { name } = await client.call(endpoints.getQueueEntry, { params });
          const question = `remove "${oneLine(name ?? params.entry_id)}" from the queue? Its text is deleted.`;
          const refusal = 'the queue entry was not removed, because you did not confirm';
          await confirmChoice(io, question, ['remove it', 'keep it'], refusal);
        }
        const dropped = await client.call(endpoints.dropQueueEntry, { params });
        show(dropped, () => `Removed queue entry ${labelOf(dropped.id, dropped.name)}\n`);
      },
    }),
  ],
);

function positionAt(
  to: 'first' | 'last',
  { before, to: earlier }: Readonly<Record<string, unknown>>,
) {
  if (before === undefined && earlier === undefined) return { to };
  throw usageError('pass only one of --before, --first and --last');
}

interface PauseOptions {
  session?: string;
  until?: string;
  zone?: string;
  reason?: string;
}

function assertOne(entryId: string | undefined, session: string | undefined): void {
  if ((entryId === undefined) === (session === undefined))
    throw usageError('pass either a queue entry or --session');
}

function holdsText({ session_id, holds }: SessionQueue, now: number, zone?: string): string {
  if (holds.length === 0) return `Resumed the queue of session ${session_id}\n`;
  return holds
    .map(({ message, until }) => {
      const end = until === null ? '' : ` until ${momentText(until, now, zoneOf(zone))}`;
      return `The queue of session ${session_id} is held${end}: ${oneLine(message)}\n`;
    })
    .join('');
}

type AddOptions = TimeOptions & TurnSettingOptions & { image: string[] };

interface EditOptions extends TimeOptions {
  now?: boolean;
  model?: string;
}
