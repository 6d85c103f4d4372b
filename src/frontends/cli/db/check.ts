import fs from 'node:fs/promises';
import { existsSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { notFoundError } from '../../../api/errors.ts';
import { sqlWasm, version } from '../../../core/lib/self.ts';
import { bootId } from '../../../core/children/identity.ts';
import type { CheckReport, Corruption } from '../../../core/store/check.ts';
import type { IndexReport } from '../../../server/conversations/search/check-index.ts';
import type { ImagesReport } from '../../../server/conversations/sessions/blobs.ts';
import type { LogsReport } from '../../../server/work/processes/check-logs.ts';
import { askedServers, type GlobalOptions, serverDirectory } from '../context.ts';
import { mebibytes } from '../output.ts';
import {
  lockStore,
  progressLine,
  runningServer,
  STORE,
  storeDirectory,
  withStoreFiles,
} from './store-files.ts';
import type { CommandIo } from '../command-io.ts';
import { backUp } from './backup.ts';

/** A finding about the database, or about another file of the data directory. */
export type Finding = Corruption & { file?: string };

export interface Checked extends Omit<CheckReport, 'damage'> {
  /** The stored output of processes; null for a backup or a server on another machine. */
  logs: LogsReport | null;
  /** The images that turns were sent with, and files of agents; null as for the logs. */
  images: ImagesReport | null;
  /** The search index; null for a backup or a server on another machine, and if no index exists. */
  search: IndexReport | null;
  damage: Finding[];
}

const nothingBeside = { logs: null, images: null, search: null };

/**
 * Checks a copy, or without `file` the database itself (a backup of it where a server runs) with the kept output of
 * processes and the search index.
 */
export async function check(
  io: CommandIo,
  options: GlobalOptions,
  file: string | undefined,
): Promise<Checked> {
  if (file !== undefined) {
    const report = await checkCopy(io, path.resolve(io.cwd(), file));
    return { ...report, ...nothingBeside };
  }
  const client = await runningServer(io, options);
  if (client) {
    client.close();
    const report = await checkRunning(io, options);
    const directory = await localDirectory(io, options);
    return directory === null
      ? { ...report, ...nothingBeside }
      : withFilesBeside(io, directory, report);
  }
  const directory = storeDirectory(io, options);
  using _lock = await lockStore(directory);
  const report = await checkFile(io, path.join(directory, STORE));
  return await withFilesBeside(io, directory, report);
}

async function checkRunning(io: CommandIo, options: GlobalOptions): Promise<CheckReport> {
  const directory = await fs.mkdtemp(path.join(os.tmpdir(), 'cadre-check-'));
  try {
    const { path: copy } = await backUp(io, options, path.join(directory, STORE));
    return await checkFile(io, copy);
  } finally {
    await fs.rm(directory, { recursive: true, force: true });
  }
}

/** The data directory of the running server; null if the options name another server. */
async function localDirectory(io: CommandIo, options: GlobalOptions): Promise<string | null> {
  const { kind } = await askedServers(options, io.env);
  return kind === 'local' ? serverDirectory(options, io.env) : null;
}

/** Adds what a check of the logs and the search index of a data directory has found. */
async function withFilesBeside(
  io: CommandIo,
  directory: string,
  report: CheckReport,
): Promise<Checked> {
  const { checkLogs } = await import('../../../server/work/processes/check-logs.ts');
  const { checkImages } = await import('../../../server/conversations/sessions/blobs.ts');
  const { checkIndex } = await import('../../../server/conversations/search/check-index.ts');
  const signal = io.interrupted();
  const damage: Finding[] = [...report.damage];
  const find = (file: string, problem: string) =>
    damage.push({ table: null, row: null, file, problem });
  using progress = progressLine(io);
  return await withStoreFiles(directory, async () => {
    const logs = await checkLogs({
      logs: path.join(directory, 'logs'),
      signal,
      onProgress: (files, bytes) => progress.show(`logs: ${files} files, ${mebibytes(bytes)}`),
      onDamage: (log) =>
        find(`logs/${log}`, 'the log differs from what was written: restore it from a copy'),
    });
    const images = await checkImages({
      images: path.join(directory, 'blobs'),
      signal,
      onProgress: (files, bytes) => progress.show(`images: ${files} files, ${mebibytes(bytes)}`),
      onDamage: (image) =>
        find(`blobs/${image}`, 'the file differs from what was stored: restore it from a copy'),
    });
    const search = await checkIndex({
      directory,
      wasm: sqlWasm,
      bootId: bootId(),
      signal,
      onProgress: (texts) => progress.show(`search index: ${texts} texts`),
      onDamage: (problem) =>
        find('search.cadre', `${problem}: stop the server and delete the file; it is built again`),
    });
    return { ...report, logs, images, search, damage };
  });
}

async function checkCopy(io: CommandIo, file: string): Promise<CheckReport> {
  const found = await fs.stat(file).catch(() => null);
  if (!found?.isFile()) throw notFoundError(`file ${file} not found`);
  const directory = path.dirname(file);
  // A file in a data directory may be in use, so the directory is locked. A copy has no lock beside it.
  const isInPlace = path.basename(file) === STORE && existsSync(path.join(directory, 'lock'));
  using _lock = isInPlace ? await lockStore(directory) : null;
  return await checkFile(io, file, isInPlace ? undefined : 'use another backup');
}

async function checkFile(io: CommandIo, file: string, remedy?: string): Promise<CheckReport> {
  await withStoreFiles(file, () => fs.access(file, fs.constants.R_OK));
  const { checkStore } = await import('../../../core/store/check.ts');
  using progress = progressLine(io);
  return await checkStore({
    file,
    wasm: sqlWasm,
    version,
    signal: io.interrupted(),
    remedy,
    onProgress: (part, rows) => progress.show(`${part}${rows > 0 ? `: ${rows} rows` : ''}`),
  });
}
