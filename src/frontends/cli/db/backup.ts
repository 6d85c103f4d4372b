import fs from 'node:fs/promises';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { endpoints } from '../../../api/index.ts';
import type { Client } from '../../../client/client.ts';
import { AppError, conflictError, unreachableError } from '../../../api/errors.ts';
import { systemIds } from '../../../core/lib/ids.ts';
import { sqlWasm } from '../../../core/lib/self.ts';
import { isNoRoom } from '../../../core/lib/system-error.ts';
import { syncDirectory } from '../../../core/lib/sync-directory.ts';
import type { GlobalOptions } from '../context.ts';
import { mebibytes } from '../output.ts';
import {
  lockStore,
  progressLine,
  runningServer,
  storeDirectory,
  withStoreFiles,
} from './store-files.ts';
import type { CommandIo } from '../command-io.ts';

interface Copied {
  path: string;
  bytes: number;
  seq: number;
}

interface Source {
  bytes: number;
  seq: number;
  pieces: AsyncIterable<Buffer>;
}

/**
 * Copies the database to a file that does not exist yet. The file appears under its name once it is complete and synced.
 * Throws `conflict` for a file that exists, `invalid` or `storage_full` for one that cannot be written.
 */
export async function backUp(io: CommandIo, options: GlobalOptions, file: string): Promise<Copied> {
  if (existsSync(file)) {
    throw conflictError(`the file ${file} already exists: choose another file`);
  }
  const signal = io.interrupted();
  const part = `${file}.part`;
  const target = await create(part);
  try {
    const copied = await fromStore(io, options, signal, async ({ bytes, seq, pieces }) => {
      using progress = progressLine(io);
      let written = 0;
      for await (const piece of pieces) {
        signal.throwIfAborted();
        await target.writeFile(piece);
        written += piece.length;
        progress.show(`${mebibytes(written)} of ${mebibytes(bytes)}`);
      }
      if (written === bytes) return { path: file, bytes, seq };
      throw unreachableError(`the backup stopped after ${written} of ${bytes} bytes: try again`);
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
      throw conflictError(
        `the file ${part} already exists: wait for the other backup, or remove the file if that backup was interrupted`,
      );
    }
    throw cannotWrite(part, error);
  }
}

function cannotWrite(part: string, cause: unknown): AppError {
  const { message } = cause as Error;
  return new AppError(
    isNoRoom(cause) ? 'storage_full' : 'invalid',
    `cannot write the file ${part} (${message}): choose another location`,
    { cause },
  );
}

/** Reads a copy from the running server, or from the locked data directory where none runs. */
async function fromStore<T>(
  io: CommandIo,
  options: GlobalOptions,
  signal: AbortSignal,
  take: (source: Source) => Promise<T>,
): Promise<T> {
  const client = await runningServer(io, options);
  if (client) return fromServer(client, signal, take);
  const directory = storeDirectory(io, options);
  using _lock = await lockStore(directory);
  const { backUpClosed } = await import('../../../core/store/backup.ts');
  const settings = {
    directory,
    wasm: sqlWasm,
    newEpoch: () => systemIds.next('epoch'),
    minFreeBytes: () => 0,
  };
  const { file, bytes, seq } = await withStoreFiles(directory, () =>
    backUpClosed(settings, signal),
  );
  return await take({ bytes, seq, pieces: file.createReadStream() });
}

async function fromServer<T>(
  client: Client,
  signal: AbortSignal,
  take: (source: Source) => Promise<T>,
): Promise<T> {
  try {
    const response = await client.open(endpoints.backUpStorage, {}, signal);
    const bytes = Number(response.headers['content-length']);
    return await take({ bytes, seq: Number(response.headers['x-seq']), pieces: response });
  } catch (error) {
    if (error instanceof AppError) throw error;
    if ((error as NodeJS.ErrnoException).code !== 'ECONNRESET') throw error;
    throw unreachableError('connection to the server lost during the backup: try again', {
      cause: error,
    });
  } finally {
    client.close();
  }
}
