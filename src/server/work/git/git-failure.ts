import fs from 'node:fs/promises';
import { AppError, isAppError } from '../../../api/errors.ts';
import { isNoRoom } from '../../../core/lib/system-error.ts';

/** The failure of a git command; the message is git's own. */
export class GitFailure extends Error {
  override readonly name = 'GitFailure';
  readonly exitCode: number;
  /** The text that git printed to stdout before it failed, with one character for each byte. */
  output = '';
  /** Whether the disk had no room for a file of git. */
  hadNoRoom = false;
  /** Whether git could not write a file. Its message often leaves out the reason. */
  couldNotWrite = false;

  constructor(exitCode: number, message: string, options?: ErrorOptions) {
    super(message, options);
    this.exitCode = exitCode;
  }

  /** Sets {@link hadNoRoom} if git could not write, and the disk of a directory where it may have written is nearly full. */
  async checkRoom(directories: readonly string[]): Promise<void> {
    if (this.couldNotWrite) this.hadNoRoom ||= await isOneNearlyFull(directories);
  }
}

/** The problem if git is not installed. */
export const NOT_FOUND =
  'git not found: install git, and check that it is on the PATH of the server';

/** Returns the failure of a command that has ended with an exit code. */
export function failureOf(exitCode: number, stderr: string): GitFailure {
  if (/ENOENT/.test(stderr) && exitCode < 0) return new GitFailure(exitCode, NOT_FOUND);
  // Git prints hints and progress first, then the error, then what to do about it; the message starts at the error.
  const lines = stderr.trim().split('\n');
  const at = lines.findLastIndex((line) => /^(fatal|error): /.test(line));
  const messageLines = at < 0 ? lines.slice(0, 1) : lines.slice(at);
  const parts = messageLines
    .map((one) => one.replace(/^(fatal|error): /, '').trim())
    .filter(Boolean);
  const failure = new GitFailure(exitCode, parts.join(' ') || `git exited with ${exitCode}`);
  failure.hadNoRoom = /No space left on device|Disk quota exceeded/.test(stderr);
  failure.couldNotWrite = NOT_WRITTEN.test(stderr);
  return failure;
}

const NOT_WRITTEN = /\b(couldn't|could not|unable to|cannot|failed to) (write|close)\b/i;
/** Git removes the file that it could not write, so a full disk may have this much room again, in bytes. */
const NEARLY_FULL_BYTES = 64 * 1024 * 1024;

/** Reports whether one of the disks of these directories has almost no room. */
async function isOneNearlyFull(directories: readonly string[]): Promise<boolean> {
  const isFull = await Promise.all(
    directories.map(async (directory) => {
      const room = await fs.statfs(directory).catch(() => null);
      return room !== null && room.bavail * room.bsize < NEARLY_FULL_BYTES;
    }),
  );
  return isFull.includes(true);
}

/** Resolves with null instead of the failure of a command that git exits from with an error, unless the disk was full. */
export async function orNull<T>(running: Promise<T>): Promise<T | null> {
  try {
    return await running;
  } catch (error) {
    if (error instanceof GitFailure && error.exitCode > 0 && !error.hadNoRoom) return null;
    throw error;
  }
}

/**
 * Returns `storage_full` for an error that a full disk has caused, with its message; returns any other error unchanged.
 * Without it, the failure would be taken for a conflict, or for a bug.
 */
export function asStorageFull(error: unknown): unknown {
  if ((error instanceof AppError && !isAppError(error, 'conflict')) || !hadNoRoom(error))
    return error;
  const { message } = error as Error;
  return new AppError('storage_full', `${message}: free some space, and try again`, {
    cause: error,
  });
}

function hadNoRoom(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  if (error instanceof GitFailure && error.hadNoRoom) return true;
  return isNoRoom(error) || hadNoRoom(error.cause);
}
