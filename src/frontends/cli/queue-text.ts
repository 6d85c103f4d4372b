import type { QueueEntry } from '../../api/queue.ts';
import { inputText } from '../../core/lib/input-text.ts';
import { oneLine } from '../../core/lib/plain.ts';
import { shorten } from '../../core/lib/shorten.ts';
import { durationText } from '../terminal/time.ts';
import { labelOf, shortId } from './output.ts';
import { listOf } from './table.ts';
import { momentText, zoneOf } from './when.ts';

/** Prints the entries of queues as a table, in the order of each queue. */
export const queueTable = listOf<QueueEntry>(
  ['ID', 'SESSION', '#', 'STATUS', 'DUE', 'SCHEDULE', 'NAME', 'TEXT'],
  (one, now) => [
    shortId(one.id),
    shortId(one.session_id),
    String(one.position),
    statusText(one),
    dueText(one, now),
    one.every ?? '-',
    one.name ?? '-',
    promptOf(one),
  ],
);

export function inOrder(entries: readonly QueueEntry[]): QueueEntry[] {
  const sessions = [...Map.groupBy(entries, ({ session_id }) => session_id).values()];
  return sessions.flatMap((own) => own.toSorted((a, b) => a.position - b.position));
}

/** The state of an entry after it was added or changed, in a line. */
export function entryStateText(entry: QueueEntry, now: number): string {
  const { id, status, position, next_at, every, time_zone, turn_id, hold } = entry;
  const zone = zoneOf(time_zone ?? undefined);
  const schedule = every === null ? '' : ` (${every})`;
  const one = `Queue entry ${labelOf(id, entry.name)}`;
  if (status === 'running') return `${one} is running as turn ${turn_id}\n`;
  if (status === 'held') return `${one} is held: ${oneLine(hold?.message ?? '')}\n`;
  if (status === 'waiting')
    return `${one} is waiting for the session at position ${position}${whyText(entry)}\n`;
  return `${one} is due ${next_at === null ? 'never' : momentText(next_at, now, zone)}${schedule}\n`;
}

function statusText(entry: QueueEntry): string {
  if (entry.status === 'held') return `held: ${entry.hold?.message ?? ''}`;
  return entry.status === 'waiting' ? `waiting${whyText(entry)}` : entry.status;
}

/** Why the session of an entry that is due begins no turn, though it may be idle. */
function whyText({ session_holds }: QueueEntry): string {
  if (session_holds.length === 0) return '';
  return `: ${session_holds.map(({ message }) => oneLine(message)).join('; ')}`;
}

function dueText({ next_at, status }: QueueEntry, now: number): string {
  if (status === 'waiting' || status === 'running') return 'now';
  return next_at === null ? '-' : `in ${durationText(Math.max(0, next_at - now))}`;
}

function promptOf({ input }: QueueEntry): string {
  return shorten(oneLine(inputText(input, ' ')), 60);
}
