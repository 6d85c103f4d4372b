import fs from 'node:fs/promises';
import path from 'node:path';
import { isAppError } from '../../../api/errors.ts';
import { ForeignFileError } from '../../../core/lib/foreign-file.ts';
import { unless } from '../../../core/lib/system-error.ts';
import { verifyLog } from './log-file.ts';
import { sumsPath } from './log-sums.ts';

export interface LogsReport {
  files: number;
  bytes: number;
  /** The number of logs without checksums. */
  unverified: number;
}

/**
 * Compares the logs of a directory with their checksums. A server may write and remove logs meanwhile. Calls `onDamage`
 * for each log that differs.
 */
export async function checkLogs(options: {
  logs: string;
  signal: AbortSignal;
  onProgress: (files: number, bytes: number) => void;
  onDamage: (log: string) => void;
}): Promise<LogsReport> {
  const { logs, signal, onProgress, onDamage } = options;
  const report: LogsReport = { files: 0, bytes: 0, unverified: 0 };
  for (const log of await logsIn(logs)) {
    signal.throwIfAborted();
    const found = await verdictOf(path.join(logs, log));
    if (found === 'removed') continue;
    report.files++;
    if (found === 'damaged') onDamage(log);
    else {
      report.bytes += found.bytes;
      if (!found.verified) report.unverified++;
    }
    onProgress(report.files, report.bytes);
  }
  return report;
}

/** The names of the logs in a directory, also of those whose checksums alone are left. */
async function logsIn(directory: string): Promise<Set<string>> {
  const names = (await fs.readdir(directory).catch(unless('ENOENT'))) ?? [];
  const logs = names.map((name) => name.replace(/\.(?:sums|printed)$/, ''));
  return new Set(logs.filter((name) => /\.std(?:out|err)$/.test(name)).toSorted());
}

async function verdictOf(
  file: string,
): Promise<'damaged' | 'removed' | { bytes: number; verified: boolean }> {
  try {
    return await verifyLog(file);
  } catch (error) {
    const isDamage = isAppError(error, 'storage_damaged');
    if (!isDamage && !(error instanceof ForeignFileError)) throw error;
    // Retention removes the checksums before the log.
    const isThere = await fs.access(sumsPath(file)).then(
      () => true,
      () => false,
    );
    return isThere || !isDamage ? 'damaged' : 'removed';
  }
}
