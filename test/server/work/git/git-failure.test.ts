import { expect, test } from 'vitest';
import { AppError, conflictError } from '../../../../src/api/errors.ts';
import { hasProc } from '../../../../src/core/lib/platform.ts';
import {
  asStorageFull,
  failureOf,
  GitFailure,
  orNull,
} from '../../../../src/server/work/git/git-failure.ts';

/** A file system without free bytes. */
const FULL = '/proc';

test.for([
  [
    'before its last line',
    'error: unable to write loose object file: No space left on device\nfatal: Unable to add stdin to database\n',
    [],
  ],
  [
    'in its last line',
    "fatal: update_ref failed: cannot update the ref: unable to append to 'a': No space left on device\n",
    [],
  ],
  ['as a quota', 'error: unable to create temporary file: Disk quota exceeded\nfatal: b\n', []],
  [
    'without the reason, as for a ref',
    "fatal: cannot update ref: couldn't write 'a.lock'\n",
    [FULL],
  ],
  ['without the reason, as for an index', 'fatal: Unable to write new index file\n', [FULL]],
] as const)(
  'A message of git that names a full disk %s is a failure for lack of room.',
  async ([, stderr, directories], { skip }) => {
    skip(directories.length > 0 && !hasProc);
    const failure = failureOf(128, stderr);
    await failure.checkRoom(directories);
    expect(failure.hadNoRoom).toBe(true);
    await expect(orNull(Promise.reject(failure))).rejects.toBe(failure);
    const refusal = conflictError(`cannot create: ${failure.message}`, { cause: failure });
    for (const error of [failure, refusal])
      expect(asStorageFull(error)).toMatchObject({
        code: 'storage_full',
        message: `${error.message}: free some space, and try again`,
      });
  },
);

test('Another failure of git is not reported as a full disk.', async () => {
  const failure = failureOf(128, "fatal: Unable to create 'index.lock': File exists.\n");
  await failure.checkRoom([FULL]);
  expect(failure.hadNoRoom).toBe(false);
  expect(await orNull(Promise.reject(failure))).toBeNull();
  const refusal = conflictError('busy', { cause: failure });
  expect(asStorageFull(refusal)).toBe(refusal);
  const unknown = new GitFailure(1, 'unknown');
  expect(asStorageFull(unknown)).toBe(unknown);
});

test('A failure of the system for lack of room is storage_full, and an error with another code stays.', () => {
  const full = Object.assign(new Error('ENOSPC: write'), { code: 'ENOSPC' });
  expect(asStorageFull(full)).toMatchObject({ code: 'storage_full' });
  const stop = new AppError('shutting_down', 'the server is stopping', { cause: full });
  expect(asStorageFull(stop)).toBe(stop);
});
