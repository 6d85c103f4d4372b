import { AppError } from '../errors.ts';
import { ForeignFileError } from '../lib/foreign-file.ts';
import { GitFailure } from './git.ts';

/** Why a worktree stays that has repositories inside. */
export function nestedMessage(inner: readonly string[]): string {
  return `it contains repositories with work of their own, which no archive can contain (${some(inner)}): push or move it`;
}

/** What went with a worktree and is in no archive. */
export function ignoredMessage(ignored: readonly string[]): string {
  return `ignored files are not archived: ${some(ignored)}`;
}

function some(names: readonly string[]): string {
  const shown = names.slice(0, 10).map((name) => Buffer.from(name, 'latin1').toString('utf8'));
  return shown.join(', ') + (names.length > 10 ? ` and ${names.length - 10} more` : '');
}

/** The message of an error of git, the system or ours; null for a bug. */
export function reasonOf(error: unknown): string | null {
  const isKnown =
    error instanceof GitFailure || error instanceof AppError || error instanceof ForeignFileError;
  return isKnown || (error as NodeJS.ErrnoException).syscall !== undefined
    ? (error as Error).message
    : null;
}
