import { existsSync } from 'node:fs';
import path from 'node:path';
import type { Client } from '../../../client/client.ts';
import { dataDirectory, loadConfig } from '../../../core/config/load.ts';
import { invalidError, isUnreachable, notFoundError } from '../../../api/errors.ts';
import type { GlobalOptions } from '../context.ts';
import type { CommandIo } from '../command-io.ts';

export const STORE = 'events.cadre';

/** A client of the running server; null where none runs. */
export async function runningServer(io: CommandIo, options: GlobalOptions): Promise<Client | null> {
  try {
    return await io.connect(options);
  } catch (error) {
    if (isUnreachable(error)) return null;
    throw error;
  }
}

/** The data directory. Throws `not_found` where it holds no database. */
export function storeDirectory(io: CommandIo, options: GlobalOptions): string {
  const directory = dataDirectory(loadConfig(options, io.env), io.env);
  if (existsSync(path.join(directory, STORE))) return directory;
  throw notFoundError(`the database ${STORE} does not exist in ${directory}: pass --data-dir`);
}

/** Locks a data directory until it is disposed. Throws `conflict` where a server holds the lock. */
export async function lockStore(directory: string): Promise<Disposable> {
  const { lockDirectory } = await import('../../../core/store/lock.ts');
  return withStoreFiles(directory, () => lockDirectory(directory));
}

/** Runs work on files of a store. Throws `invalid` where a system call fails. */
export async function withStoreFiles<T>(file: string, work: () => T | Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const { syscall, message } = error as NodeJS.ErrnoException;
    if (syscall === undefined) throw error;
    throw invalidError(
      `cannot use ${file} (${message}): run this command as the owner of the data`,
      { cause: error },
    );
  }
}

/** The line is written at most this often. */
const EVERY_MS = 100;

/** A progress line on stderr, if that is a terminal. It is erased when it is disposed. */
export function progressLine({
  stderr,
  clock,
}: CommandIo): Disposable & { show(text: string): void } {
  const isSeen = stderr.isTTY === true;
  let shownAt = Number.NEGATIVE_INFINITY;
  return {
    show(text) {
      const now = clock.monotonic();
      if (!isSeen || now - shownAt < EVERY_MS) return;
      shownAt = now;
      stderr.write(`\r\u001B[K${text}`);
    },
    [Symbol.dispose]() {
      if (isSeen && shownAt > Number.NEGATIVE_INFINITY) stderr.write('\r\u001B[K');
    },
  };
}
