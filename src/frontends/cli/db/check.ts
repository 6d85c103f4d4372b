import fs from 'node:fs/promises';
import { existsSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { AppError } from '../../../api/errors.ts';
import { sqlWasm, version } from '../../../core/lib/self.ts';
import type { CheckReport } from '../../../core/store/check.ts';
import type { GlobalOptions } from '../context.ts';
import { progressLine } from '../progress.ts';
import type { World } from '../world.ts';
import { backUp } from './backup.ts';
import { lockStore, runningServer, STORE, storeDirectory, withStoreFiles } from './store-files.ts';

/** Checks a copy, or without `file` the database itself: a backup of it where a server runs. */
export async function check(
  world: World,
  options: GlobalOptions,
  file: string | undefined,
): Promise<CheckReport> {
  if (file !== undefined) return checkCopy(world, path.resolve(world.cwd(), file));
  const client = await runningServer(world, options);
  if (client) {
    client.close();
    const directory = await fs.mkdtemp(path.join(os.tmpdir(), 'cadre-check-'));
    try {
      const { path: copy } = await backUp(world, options, path.join(directory, STORE));
      return await checkFile(world, copy);
    } finally {
      await fs.rm(directory, { recursive: true, force: true });
    }
  }
  const directory = storeDirectory(world, options);
  using _lock = await lockStore(directory);
  return await checkFile(world, path.join(directory, STORE));
}

async function checkCopy(world: World, file: string): Promise<CheckReport> {
  const found = await fs.stat(file).catch(() => null);
  if (!found?.isFile()) throw new AppError('not_found', `file ${file} not found`);
  const directory = path.dirname(file);
  // A file in a data directory may be in use, so the directory is locked. A copy has no lock beside it.
  const isInPlace = path.basename(file) === STORE && existsSync(path.join(directory, 'lock'));
  using _lock = isInPlace ? await lockStore(directory) : null;
  return await checkFile(world, file);
}

async function checkFile(world: World, file: string): Promise<CheckReport> {
  await withStoreFiles(file, () => fs.access(file, fs.constants.R_OK));
  const { checkStore } = await import('../../../core/store/check.ts');
  using progress = progressLine(world);
  return await checkStore({
    file,
    wasm: sqlWasm,
    version,
    signal: world.interrupted(),
    onProgress: (part, rows) => progress.tell(`${part}${rows > 0 ? `: ${rows} rows` : ''}`),
  });
}
