import { readSmallFile } from './foreign-file.ts';
import { hasProc } from './platform.ts';

/** Returns how many files this process may have open. Node has raised the soft limit to the hard one. */
export function descriptorLimit(): number {
  const limit = hasProc ? limitInProc() : limitInReport();
  return Number.isFinite(limit) ? limit : Number.MAX_SAFE_INTEGER;
}

function limitInProc(): number {
  try {
    const { text } = readSmallFile('/proc/self/limits', { maxBytes: 64 * 1024 });
    return Number(/^Max open files\s+(\d+)/m.exec(text)?.[1]);
  } catch {
    return Number.NaN;
  }
}

/** Takes 10 ms, twenty times as long as the file of /proc. Without a limit the report has a word for a number. */
function limitInReport(): number {
  Object.assign(process.report, { excludeNetwork: true });
  const report = process.report.getReport() as { userLimits?: { open_files?: { soft?: unknown } } };
  return Number(report.userLimits?.open_files?.soft);
}
