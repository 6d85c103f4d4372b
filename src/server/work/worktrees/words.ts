import { AppError } from '../../../api/errors.ts';
import { ForeignFileError } from '../../../core/lib/foreign-file.ts';
import { GitFailure } from '../git/git.ts';

/** Says why a worktree with repositories inside cannot be removed. */
export function nestedMessage(inner: readonly string[]): string {
  return `the worktree contains repositories with unsaved work, which an archive cannot hold (${firstNames(inner)}): push or move them`;
}

/** Names the ignored files that were deleted with a worktree and are in no archive. */
export function ignoredMessage(ignored: readonly string[]): string {
  return `ignored files are not archived: ${firstNames(ignored)}`;
}

function firstNames(names: readonly string[]): string {
  const shown = names.slice(0, 10).map((name) => Buffer.from(name, 'latin1').toString('utf8'));
  return shown.join(', ') + (names.length > 10 ? ` and ${names.length - 10} more` : '');
}

/** Returns the message of an error of git, the system or cadre itself; null for a bug. */
export function reasonOf(error: unknown): string | null {
  const isKnown =
    error instanceof GitFailure || error instanceof AppError || error instanceof ForeignFileError;
  return isKnown || (error as NodeJS.ErrnoException).syscall !== undefined
    ? (error as Error).message
    : null;
}

/** Says that a worktree is not registered with git, as after its repository was removed and made again. */
export function unknownToGit(directory: string): string {
  return `the worktree ${directory} is not registered with git: run git worktree repair`;
}
