import { dump, storeIn } from '../../releases/dump.ts';
import { sqlWasm } from '../../../src/core/lib/self.ts';
import { openReadOnly } from '../../../src/core/store/read-only.ts';
import type { OldData } from './old-data.ts';

type Rows = unknown[][];
const ID = /\b[a-z]+_[0-9a-f]{32}\b/g;
const DAY = 86_400_000;

/**
 * Returns what starts have made of old data, without what differs between two runs: times and ids that the starts
 * gave, and deltas, which leave the log after some time. Newer events with the same kind and noun count once, because a
 * start after a kill repeats some.
 */
export async function outcomeOf(old: OldData, started: number): Promise<Record<string, unknown>> {
  const { sequence: _, deltas: __, ...tables } = await dump(storeIn(old.directory));
  const known = new Set(JSON.stringify(old.before).match(ID));
  const masked = (value: unknown): unknown => {
    if (typeof value === 'number') return isSince(started, value) ? 'a time' : value;
    if (typeof value !== 'string') return value;
    return value
      .replace(ID, (id) => (known.has(id) ? id : 'an id'))
      .replace(/\b\d{13}\b/g, (time) => (isSince(started, Number(time)) ? 'a time' : time))
      .replace(/"(news_seq|seq)":(\d+)/g, (field, name, seq) =>
        Number(seq) > old.last ? `"${name}":"new"` : field,
      );
  };
  const outcome = Object.entries(tables).map(([name, rows]) => [
    name,
    name === 'events'
      ? eventsOf(rows as Rows, old.last, masked)
      : (rows as Rows).map((row) => withoutSum(row).map(masked)),
  ]);
  return { ...(Object.fromEntries(outcome) as object), epoch: await epochOf(old.directory) };
}

function isSince(started: number, time: number): boolean {
  return time >= started && time < started + DAY;
}

function eventsOf(rows: Rows, last: number, masked: (value: unknown) => unknown): unknown[] {
  const older = rows.filter(([seq]) => Number(seq) <= last);
  const newer = rows
    .filter(([seq, kind]) => Number(seq) > last && !String(kind).startsWith('runtime.'))
    .map(([, ...nouns]) => nouns.slice(0, 5).map(masked).join(' '));
  return [...older, ...new Set(newer)];
}

/** The checksum of a text with times and ids differs, too; `cadre db check` compares them. */
function withoutSum(row: unknown[]): unknown[] {
  const at = row.findIndex((value) => typeof value === 'string' && value.startsWith('{'));
  return at < 0 ? row : row.toSpliced(at + 1, 1);
}

/** The id of the log, which a lost event would change. */
async function epochOf(directory: string): Promise<unknown> {
  using connection = await openReadOnly(storeIn(directory), sqlWasm);
  return connection.sql.one("SELECT value FROM meta WHERE key = 'epoch'")?.[0];
}
