import { existsSync } from 'node:fs';
import path from 'node:path';
import { prepareDirectory, withDataDirectory } from '../../../core/config/data-directory.ts';
import { dataDirectory, loadConfig } from '../../../core/config/load.ts';
import { AppError } from '../../../api/errors.ts';
import { failpointsFrom } from '../../../core/lib/failpoint.ts';
import { systemIds } from '../../../core/lib/ids.ts';
import { sqlWasm } from '../../../core/lib/self.ts';
import { shellWord } from '../../../core/lib/shell-word.ts';
import type { StoreFacts } from '../../../core/store/older-copies.ts';
import { askYes } from '../ask-yes.ts';
import type { GlobalOptions } from '../context.ts';
import { plain } from '../output.ts';
import type { World } from '../world.ts';
import { check } from './check.ts';
import { lockStore, STORE, withStoreFiles } from './store-files.ts';

/** What a restore has done. */
export interface Restored {
  data_dir: string;
  backup: string;
  /** The version that wrote the backup, its format and its newest seq. */
  version: string;
  format: number;
  seq: number;
  /** The files that hold what was there before. */
  replaced: string[];
}

/**
 * Puts a backup in the place of the database of the data directory, which may be missing or damaged. Returns null where
 * the user declines. Throws `conflict` where a server runs, `not_found` without the file, `storage_damaged` for a backup
 * that is not whole, `usage` where something is replaced and nobody can be asked.
 */
export async function restore(
  world: World,
  options: GlobalOptions & { yes?: boolean },
  file: string,
): Promise<Restored | null> {
  const backup = path.resolve(world.cwd(), file);
  const { damage } = await check(world, options, backup);
  if (damage.length > 0)
    throw new AppError(
      'storage_damaged',
      `the backup ${backup} has damaged rows (${damage.length}), so nothing was changed: list the rows with cadre db check ${shellWord(backup)}, or name another backup`,
    );
  const directory = dataDirectory(loadConfig(options, world.env), world.env);
  withDataDirectory(directory, () => prepareDirectory(directory));
  using _lock = await lockStore(directory);
  return await withStoreFiles(directory, async () => {
    const { factsOf } = await import('../../../core/store/older-copies.ts');
    const { stampOf } = await import('../../../core/store/rollback.ts');
    const { restoreStore } = await import('../../../core/store/restore.ts');
    const facts = await factsOf(backup, sqlWasm);
    const store = path.join(directory, STORE);
    const isThere = existsSync(store) || existsSync(`${store}-wal`);
    world.stderr.write(planText(facts, directory, isThere));
    if (isThere && !options.yes && !(await isWanted(world))) return null;
    const { replaced } = await restoreStore({
      directory,
      backup,
      wasm: sqlWasm,
      newEpoch: () => systemIds.next('epoch'),
      stamp: stampOf(world.clock.now()),
      failpoint: failpointsFrom(world.env.CADRE_FAILPOINTS),
    });
    const { version, format, seq } = facts;
    return { data_dir: directory, backup, version, format, seq, replaced };
  });
}

/** Describes a restore that was done. */
export function restoredText({ data_dir, backup, replaced }: Restored): string {
  return [
    `Restored ${backup} to ${data_dir}\n`,
    ...replaced.map((file) => `  kept    ${file}\n`),
    '  start   cadre serve\n',
  ].join('');
}

function planText(
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

function isWanted(world: World): Promise<boolean> {
  if (world.stdin.isTTY && world.stderr.isTTY) return askYes(world, 'restore? [y/N] ');
  throw new AppError('usage', 'not a terminal: pass --yes to confirm');
}
