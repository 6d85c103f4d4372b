import fs from 'node:fs/promises';
import path from 'node:path';
import { invalidError } from '../../../api/errors.ts';
import { ForeignFileError, readForeignFile } from '../../../core/lib/foreign-file.ts';
import { MAX_IMAGE_BYTES } from '../../conversations/sessions/blobs.ts';
import type { InputItem } from '../../../api/input.ts';

export interface ImageFile {
  /** The absolute path that the agent means; a relative one starts at the directory of its session. */
  path: string;
  /** The path with all symbolic links resolved. */
  real: string;
  /** Whether the resolved path is below the directory of the session. */
  isInside: boolean;
}

/** Resolves the paths of image files. A missing file is only reported when it is read. */
export function locateImages(
  paths: readonly string[] | null | undefined,
  cwd: string,
): Promise<ImageFile[]> {
  return Promise.all(
    (paths ?? []).map(async (name) => {
      const named = path.resolve(cwd, name);
      const real = await fs.realpath(named).catch(() => named);
      return { path: named, real, isInside: isBelow(cwd, real) };
    }),
  );
}

/**
 * Reads image files at their resolved paths without following links, so that the file that was approved is the file
 * that is read. Throws `invalid` for a file that cannot be read, or is larger than 5 MiB.
 */
export function readImages(files: readonly ImageFile[]): Promise<InputItem[]> {
  return Promise.all(
    files.map(async (file) => ({
      type: 'image' as const,
      data: (await bytesOf(file)).toString('base64'),
    })),
  );
}

async function bytesOf({ path: named, real }: ImageFile): Promise<Buffer> {
  const failed = (why: string) => invalidError(`cannot read the image ${named}: ${why}`);
  try {
    const name = path.relative('/', real);
    const bytes = await readForeignFile('/', name, { maxBytes: MAX_IMAGE_BYTES });
    if (bytes) return bytes;
  } catch (error) {
    if (error instanceof ForeignFileError) throw failed(error.message);
    throw failed((error as NodeJS.ErrnoException).code ?? 'unknown error');
  }
  throw failed('no such file');
}

function isBelow(directory: string, file: string): boolean {
  const way = path.relative(directory, file);
  return way !== '' && !path.isAbsolute(way) && way.split(path.sep)[0] !== '..';
}
