import path from 'node:path';
import { sqlWasm } from '../../../src/core/lib/self.ts';
import { openConnection } from '../../../src/core/store/connection.ts';
import { applyMigrations, newestFormat } from '../../../src/core/store/migrate.ts';
import { asDataDirectory, tempDirectory } from '../../support/temp.ts';
import { change, dump, storeIn } from '../../releases/dump.ts';
import { type StoredFormat, storedFormats, unpackFormat } from './stored.ts';

/** All formats of which data are tested, the oldest first. */
export const formats = Array.from(
  { length: newestFormat - Math.min(...storedFormats) + 1 },
  (_, at) => at + Math.min(...storedFormats),
);

export interface OldData extends StoredFormat {
  /** A data directory that a server can start on. */
  directory: string;
  /** The rows of its store. */
  before: Record<string, unknown>;
  /** Its newest seq. */
  last: number;
  /** The path of the copy that a migration makes. */
  copy: string;
}

/** Calls `test` with the data of a format in a directory of its own. */
export async function withOldData(
  format: number,
  test: (old: OldData) => Promise<void>,
): Promise<void> {
  await using place = tempDirectory('upgrade');
  const directory = path.join(place.path, 'data');
  await test(await makeOldData(format, directory));
}

/**
 * Makes a data directory of a format. A format that no commit has written is made from the data of the last one before
 * it, with the migrations up to it. The newest one is made older by one, so that it is migrated: its steps may run twice.
 */
export async function makeOldData(format: number, directory: string): Promise<OldData> {
  const stored = unpackFormat(storedFormats.findLast((one) => one <= format) ?? 0, directory);
  asDataDirectory(directory);
  const found = format === newestFormat ? newestFormat - 1 : format;
  if (found > stored.format) await migrateTo(directory, stored.format, found);
  if (found < stored.format) await change(directory, `PRAGMA user_version = ${found}`);
  const before = await dump(storeIn(directory));
  const copy = `${storeIn(directory)}.before-v${found + 1}`;
  const [[, last] = []] = before.sequence as number[][];
  return { ...stored, format: found, directory, before, copy, last: Number(last) };
}

async function migrateTo(directory: string, from: number, to: number): Promise<void> {
  using connection = await openConnection({ wasm: sqlWasm, directory });
  connection.sql.exec('BEGIN IMMEDIATE');
  applyMigrations(connection.sql, from, to);
  connection.sql.exec('COMMIT');
}
