import { existsSync } from 'node:fs';
import path from 'node:path';
import { prepareDirectory, withDataDirectory } from '../../../core/config/data-directory.ts';
import { dataDirectory, loadConfig } from '../../../core/config/load.ts';
import { AppError, notFoundError, usageError } from '../../../api/errors.ts';
import { failpointsFrom } from '../../../core/lib/failpoint.ts';
import { systemIds } from '../../../core/lib/ids.ts';
import { sqlWasm, version } from '../../../core/lib/self.ts';
import { shellWord } from '../../../core/lib/shell-word.ts';
import type { StoreFacts, Noun } from '../../../core/store/older-copies.ts';
import { askYes } from '../choose.ts';
import { commandOn } from '../command-on.ts';
import type { GlobalOptions } from '../context.ts';
import { plain } from '../output.ts';
import { canAsk, type CommandIo } from '../command-io.ts';
import { check } from './check.ts';
import { lockStore, STORE, withStoreFiles, storeDirectory } from './store-files.ts';

export type ReplaceOptions = GlobalOptions & { yes?: boolean };

export interface Restored {
  data_dir: string;
  backup: string;
  /** The version that wrote the backup, its format and its newest seq. */
  version: string;
  format: number;
  seq: number;
  /** The files that hold the data from before. */
  replaced: string[];
}

/**
 * Puts a backup in the place of the database of the data directory, which may be missing or damaged. Returns null where
 * the user declines. Throws `conflict` where a server runs, `not_found` without the file, `storage_damaged` for a backup
 * that is not whole, `usage` where something is replaced and nobody can be asked.
 */
export async function restore(
  io: CommandIo,
  options: ReplaceOptions,
  file: string,
): Promise<Restored | null> {
  const backup = path.resolve(io.cwd(), file);
  const { damage } = await check(io, options, backup);
  if (damage.length > 0)
    throw new AppError(
      'storage_damaged',
      `the backup ${backup} has damaged rows (${damage.length}), so nothing was changed: list the rows with cadre db check ${shellWord(backup)}, or name another backup`,
    );
  const directory = dataDirectory(loadConfig(options, io.env), io.env);
  withDataDirectory(directory, () => prepareDirectory(directory));
  using _lock = await lockStore(directory);
  return await withStoreFiles(directory, async () => {
    const { factsOf } = await import('../../../core/store/older-copies.ts');
    const { restoreStore } = await import('../../../core/store/replace-store.ts');
    const facts = await factsOf(backup, sqlWasm);
    const store = path.join(directory, STORE);
    const isThere = existsSync(store) || existsSync(`${store}-wal`);
    io.stderr.write(restorePlan(facts, directory, isThere));
    if (
      isThere &&
      !options.yes &&
      !(await isWanted(io, 'restore? [y/N] ', 'pass --yes to confirm'))
    )
      return null;
    const { replaced } = await restoreStore({
      directory,
      copy: backup,
      wasm: sqlWasm,
      newEpoch: () => systemIds.next('epoch'),
      now: io.clock.now(),
      failpoint: failpointsFrom(io.env.CADRE_FAILPOINTS),
    });
    const { version, format, seq } = facts;
    return { data_dir: directory, backup, version, format, seq, replaced };
  });
}

export function restoredText(
  { data_dir, backup, replaced }: Restored,
  options: GlobalOptions,
): string {
  return [
    `Restored ${backup} to ${data_dir}\n`,
    ...replaced.map((file) => `  kept    ${file}\n`),
    `  start   ${commandOn('serve', options)}\n`,
  ].join('');
}

function restorePlan(
  { version, format, seq, newest, file }: StoreFacts,
  directory: string,
  isThere: boolean,
): string {
  const until = newest === null ? '' : `, up to ${new Date(newest).toISOString()}`;
  return [
    `  backup    ${plain(file)}\n`,
    `  holds     data of cadre ${plain(version)} (format ${format}), seq ${seq}${until}\n`,
    `  replaces  ${isThere ? path.join(directory, STORE) : 'nothing'}\n`,
  ].join('');
}

/** Asks before data is replaced. Throws `usage` with the remedy if nobody can be asked. */
function isWanted(io: CommandIo, question: string, remedy: string): Promise<boolean> {
  if (canAsk(io)) return askYes(io, question);
  throw usageError(`not a terminal: ${remedy}`);
}

const UNSEEN = 'check which data the rollback would remove, then pass --yes';

interface RolledBack {
  /** The version that wrote the data that are in place now, their format and their newest seq. */
  version: string;
  format: number;
  seq: number;
  /** The copy that was put in place. */
  copy: string;
  /** The file that holds the data that were replaced. */
  replaced: string;
  /** The number of records of each kind that came after the copy. */
  lost: Partial<Record<Noun, number>>;
}

/**
 * Puts a copy in the place of the database: the given one, else the newest of an older format. Returns null where the
 * user declines. Throws `conflict` where a server runs, `not_found` without a copy, `usage` where nobody can be asked.
 */
export async function rollBack(
  io: CommandIo,
  options: ReplaceOptions,
  file: string | undefined,
): Promise<RolledBack | null> {
  const directory = storeDirectory(io, options);
  using _lock = await lockStore(directory);
  return await withStoreFiles(directory, async () => {
    const { rollBack: replace, tidyStore } = await import('../../../core/store/replace-store.ts');
    const { factsOf, newerThan } = await import('../../../core/store/older-copies.ts');
    await tidyStore(directory, sqlWasm);
    const store = await factsOf(path.join(directory, STORE), sqlWasm);
    const copy =
      file === undefined
        ? await olderCopy(directory, store)
        : await factsOf(existing(path.resolve(io.cwd(), file)), sqlWasm);
    const lost = newerThan(copy, store);
    io.stderr.write(rollbackPlan(copy, store, lost));
    if (!options.yes && !(await isWanted(io, 'roll back? [y/N] ', UNSEEN))) return null;
    const { kept } = await replace({
      directory,
      copy: copy.file,
      wasm: sqlWasm,
      newEpoch: () => systemIds.next('epoch'),
      now: io.clock.now(),
      failpoint: failpointsFrom(io.env.CADRE_FAILPOINTS),
    });
    const { version: writer, format, seq } = copy;
    return { version: writer, format, seq, copy: copy.file, replaced: kept, lost };
  });
}

export function rolledBackText(done: RolledBack, options: GlobalOptions): string {
  const isOlder = done.version !== version;
  return [
    `Rolled back to the data of cadre ${plain(done.version)}\n`,
    ...(isOlder
      ? [`  start   cadre ${plain(done.version)} (this version would upgrade the data again)\n`]
      : []),
    `  kept    ${done.replaced}\n`,
    `  undo    ${commandOn(`db rollback ${shellWord(done.replaced)}`, options)}\n`,
  ].join('');
}

function existing(file: string): string {
  if (existsSync(file)) return file;
  throw notFoundError(`file ${file} not found`);
}

async function olderCopy(directory: string, store: StoreFacts): Promise<StoreFacts> {
  const { factsOf, olderCopies } = await import('../../../core/store/older-copies.ts');
  const { newestFormat } = await import('../../../core/store/migrate.ts');
  for (const file of olderCopies(directory)) {
    const facts = await factsOf(file, sqlWasm);
    // An older version of cadre that runs this command reads only formats up to its own.
    if (facts.format < store.format && facts.format <= newestFormat) return facts;
  }
  throw notFoundError(
    `${directory} contains no data from before an upgrade of cadre: pass such a file to cadre db rollback FILE`,
  );
}

function rollbackPlan(copy: StoreFacts, store: StoreFacts, lost: RolledBack['lost']): string {
  const counts = Object.entries(lost).map(([kind, count]) => counted(count, kind));
  const events = store.seq - copy.seq;
  const what = [...counts, ...(events > 0 ? [`events ${copy.seq + 1} to ${store.seq}`] : [])];
  const until = copy.newest === null ? '' : `, up to ${new Date(copy.newest).toISOString()}`;
  return [
    `  from    cadre ${plain(store.version)} (format ${store.format})\n`,
    `  back to cadre ${plain(copy.version)} (format ${copy.format})${until}\n`,
    `  copy    ${plain(copy.file)}\n`,
    `  lost    ${what.length > 0 ? `${what.join(', ')}; changes to older records` : 'no records'}\n`,
  ].join('');
}

function counted(count: number, kind: string): string {
  return `${count} ${count === 1 ? kind.replace(/(ss)es$|s$/, '$1') : kind}`;
}
