import fs from 'node:fs/promises';
import { existsSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import type { Command } from 'commander';
import { endpoints } from '../../api/index.ts';
import type { Client } from '../../client/client.ts';
import { dataDirectory, loadConfig } from '../../config/load.ts';
import { AppError } from '../../errors.ts';
import { systemIds } from '../../lib/ids.ts';
import { readAsset, version } from '../../lib/self.ts';
import type { CheckReport, Damage } from '../../store/check.ts';
import type { GlobalOptions } from '../context.ts';
import { exitCodes } from '../exit.ts';
import { mebibytes, plain } from '../output.ts';
import { progressLine } from '../progress.ts';
import { showDocument, type World } from '../world.ts';

const STORE = 'events.cadre';

/** `cadre db …`. These commands work with a running server and without one. */
export function dbCommands(program: Command, world: World): void {
  const db = program
    .command('db')
    .description('the database: copies of it, and whether it is whole');

  db.command('backup')
    .description(
      'copy the database into one file, also while the server runs: the events.cadre of a new data directory',
    )
    .argument('<file>', 'the copy; it must not be there yet')
    .option('--config <file>', 'the configuration (CADRE_CONFIG)')
    .action(async (file: string, _options: object, command: Command) => {
      const options = command.optsWithGlobals<GlobalOptions>();
      const copied = await backUp(world, options, path.resolve(file));
      showDocument(
        world,
        options,
        copied,
        () => `${copied.path}  ${copied.bytes} bytes, up to seq ${copied.seq}\n`,
      );
    });

  db.command('check')
    .description('check the database, or a copy of it; ends with 1 where something is damaged')
    .argument('[file]', 'a copy; default: the database itself')
    .option('--config <file>', 'the configuration (CADRE_CONFIG)')
    .action(async (file: string | undefined, _options: object, command: Command) => {
      const options = command.optsWithGlobals<GlobalOptions>();
      const report = await check(world, options, file);
      const rows = report.tables.reduce((sum, table) => sum + table.rows, 0);
      const ok = report.damage.length === 0;
      const summary = `${rows} rows checked in ${mebibytes(report.bytes)}: ${ok ? 'ok' : `${report.damage.length} damaged`}\n`;
      showDocument(world, options, { ok, rows, ...report }, () =>
        [...report.damage.map(lineOf), summary].join(''),
      );
      if (!ok) world.exit(exitCodes.failed);
    });
}

interface Copied {
  path: string;
  bytes: number;
  seq: number;
}

/** A copy that comes in pieces. */
interface Source {
  bytes: number;
  seq: number;
  pieces: AsyncIterable<Buffer>;
}

/** Whole under its name, or not there at all. */
async function backUp(world: World, options: GlobalOptions, file: string): Promise<Copied> {
  if (existsSync(file)) {
    throw new AppError('conflict', `${file} is there already: name a file that is not`);
  }
  const signal = world.interrupted();
  const part = `${file}.part`;
  const target = await create(part);
  try {
    const copied = await fromStore(world, options, signal, async ({ bytes, seq, pieces }) => {
      using progress = progressLine(world);
      let written = 0;
      for await (const piece of pieces) {
        signal.throwIfAborted();
        await target.writeFile(piece);
        written += piece.length;
        progress.tell(`${mebibytes(written)} of ${mebibytes(bytes)}`);
      }
      if (written === bytes) return { path: file, bytes, seq };
      throw new AppError(
        'unreachable',
        `the copy ended after ${written} of ${bytes} bytes: try again`,
      );
    });
    await target.sync();
    await fs.rename(part, file);
    await syncDirectory(path.dirname(file));
    return copied;
  } catch (error) {
    await fs.rm(part, { force: true });
    const { syscall } = error as NodeJS.ErrnoException;
    throw syscall === undefined ? error : cannotWrite(part, error);
  } finally {
    await target.close();
  }
}

async function create(part: string): Promise<fs.FileHandle> {
  try {
    return await fs.open(part, 'wx', 0o600);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') {
      throw new AppError(
        'conflict',
        `${part} is there: another backup is being written, or was cut off; then remove it`,
      );
    }
    throw cannotWrite(part, error);
  }
}

function cannotWrite(part: string, cause: unknown): AppError {
  const { code, message } = cause as NodeJS.ErrnoException;
  return new AppError(
    code === 'ENOSPC' || code === 'EDQUOT' ? 'storage_full' : 'invalid',
    `${part} cannot be written (${message}): name a file elsewhere`,
    { cause },
  );
}

/** Asks the running server for a copy, or makes one where none runs. */
async function fromStore<T>(
  world: World,
  options: GlobalOptions,
  signal: AbortSignal,
  take: (source: Source) => Promise<T>,
): Promise<T> {
  const client = await runningServer(world, options);
  if (client) return fromServer(client, signal, take);
  const directory = directoryOf(world, options);
  using _lock = await locked(directory);
  const { backUpClosed } = await import('../../store/backup.ts');
  const settings = {
    directory,
    wasm: readAsset('sql-wasm.wasm'),
    newEpoch: () => systemIds.next('epoch'),
    minFreeBytes: () => 0,
  };
  const { file, bytes, seq } = await usable(directory, () => backUpClosed(settings, signal));
  return await take({ bytes, seq, pieces: file.createReadStream() });
}

async function fromServer<T>(
  client: Client,
  signal: AbortSignal,
  take: (source: Source) => Promise<T>,
): Promise<T> {
  try {
    const response = await client.open(endpoints.backUpStorage, {}, undefined, { signal });
    const bytes = Number(response.headers['content-length']);
    return await take({ bytes, seq: Number(response.headers['x-seq']), pieces: response });
  } catch (error) {
    if (error instanceof AppError) throw error;
    if ((error as NodeJS.ErrnoException).code !== 'ECONNRESET') throw error;
    throw new AppError('unreachable', 'the server went away in the middle of the copy: try again', {
      cause: error,
    });
  } finally {
    client.close();
  }
}

async function runningServer(world: World, options: GlobalOptions): Promise<Client | null> {
  try {
    return await world.connect(options);
  } catch (error) {
    if (error instanceof AppError && error.code === 'unreachable') return null;
    throw error;
  }
}

function directoryOf(world: World, options: GlobalOptions): string {
  const directory = dataDirectory(loadConfig(options, world.env), world.env);
  if (existsSync(path.join(directory, STORE))) return directory;
  throw new AppError('not_found', `there is no ${STORE} in ${directory}: name one with --data-dir`);
}

/** Nobody else has the directory from now on. Throws `conflict` where a server has it. */
async function locked(directory: string): Promise<Disposable> {
  const { lockDirectory } = await import('../../store/lock.ts');
  return usable(directory, () => lockDirectory(directory));
}

/** Runs what needs files of a store. Throws `invalid` where the system refuses. */
async function usable<T>(place: string, work: () => T | Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const { syscall, message } = error as NodeJS.ErrnoException;
    if (syscall === undefined) throw error;
    throw new AppError(
      'invalid',
      `${place} cannot be used (${message}): do this as the user whose data it is`,
      { cause: error },
    );
  }
}

async function check(
  world: World,
  options: GlobalOptions,
  file: string | undefined,
): Promise<CheckReport> {
  if (file !== undefined) return checkCopy(world, path.resolve(file));
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
  const directory = directoryOf(world, options);
  using _lock = await locked(directory);
  return await checkFile(world, path.join(directory, STORE));
}

async function checkCopy(world: World, file: string): Promise<CheckReport> {
  const found = await fs.stat(file).catch(() => null);
  if (!found?.isFile()) throw new AppError('not_found', `there is no file ${file}`);
  const directory = path.dirname(file);
  // The file of a data directory may be in use; what is beside a copy is nobody's.
  const isInPlace = path.basename(file) === STORE && existsSync(path.join(directory, 'lock'));
  using _lock = isInPlace ? await locked(directory) : null;
  return await checkFile(world, file);
}

async function checkFile(world: World, file: string): Promise<CheckReport> {
  await usable(file, () => fs.access(file, fs.constants.R_OK));
  const { checkStore } = await import('../../store/check.ts');
  using progress = progressLine(world);
  return await checkStore({
    file,
    wasm: readAsset('sql-wasm.wasm'),
    version,
    signal: world.interrupted(),
    onProgress: (part, rows) => progress.tell(`${part}${rows > 0 ? `: ${rows} rows` : ''}`),
  });
}

function lineOf({ table, row, problem }: Damage): string {
  const place = [table ?? 'file', ...(row === null ? [] : [`row ${row}`])].join(', ');
  return `${place}: ${plain(problem).replaceAll(/\s+/g, ' ')}\n`;
}

async function syncDirectory(directory: string): Promise<void> {
  const handle = await fs.open(directory);
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
