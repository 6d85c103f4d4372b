import { createHash } from 'node:crypto';
import { constants, type Stats } from 'node:fs';
import fs from 'node:fs/promises';
import path from 'node:path';
import type { InputItem, StoredInputItem } from '../api/sessions.ts';
import { AppError } from '../errors.ts';
import { ForeignFileError, readForeignFile } from '../lib/foreign-file.ts';

const MAX_IMAGES = 8;
/** The most bytes that one image may have. */
export const MAX_IMAGE_BYTES = 5 * 1024 * 1024;

/** How the files of each kind begin. */
const signatures: readonly [mediaType: string, matches: (bytes: Buffer) => boolean][] = [
  ['image/png', (bytes) => bytes.subarray(0, 8).equals(Buffer.from('89504e470d0a1a0a', 'hex'))],
  ['image/jpeg', (bytes) => bytes.subarray(0, 3).equals(Buffer.from('ffd8ff', 'hex'))],
  ['image/gif', (bytes) => /^GIF8[79]a/.test(bytes.toString('latin1', 0, 6))],
  [
    'image/webp',
    (bytes) =>
      bytes.toString('latin1', 0, 4) === 'RIFF' && bytes.toString('latin1', 8, 12) === 'WEBP',
  ],
];

/** Copies of images, each named by the digest of its bytes, so that the images of a turn never change. */
export class Blobs {
  readonly #directory: string;

  constructor(directory: string) {
    this.#directory = directory;
  }

  /**
   * Returns the input as it is stored: each image is copied, and on disk before the row that names it. At most 8 images
   * of 5 MiB, PNG, JPEG, GIF or WebP by their bytes. `directoryOf` gives the directory that relative paths start from,
   * and is called only where there is such a path. Throws `invalid`; copies made before that stay.
   */
  async keep(
    input: readonly InputItem[],
    directoryOf: () => Promise<string>,
  ): Promise<StoredInputItem[]> {
    const count = input.filter(({ type }) => type === 'image').length;
    if (count > MAX_IMAGES)
      throw new AppError(
        'invalid',
        `input has ${count} images: at most ${MAX_IMAGES} are accepted`,
      );
    const isRelative = input.some((item) => 'path' in item && !path.isAbsolute(item.path));
    const directory = isRelative ? await directoryOf() : '/';
    return Promise.all(
      input.map(async (item) => (item.type === 'text' ? item : this.#keepImage(item, directory))),
    );
  }

  async #keepImage(
    item: Exclude<InputItem, { type: 'text' }>,
    directory: string,
  ): Promise<StoredInputItem> {
    const name = 'path' in item ? path.resolve(directory, item.path) : 'inline image';
    const bytes = 'path' in item ? await readImage(name) : Buffer.from(item.data, 'base64');
    const mediaType = signatures.find(([, matches]) => matches(bytes))?.[0];
    if (bytes.length > MAX_IMAGE_BYTES) {
      throw new AppError(
        'invalid',
        `${name} has ${bytes.length} bytes: at most ${MAX_IMAGE_BYTES} are accepted`,
      );
    }
    if (!mediaType) throw new AppError('invalid', `${name} is no PNG, JPEG, GIF or WebP image`);
    if ('media_type' in item && item.media_type !== undefined && item.media_type !== mediaType) {
      throw new AppError(
        'invalid',
        `${name} has the media_type ${item.media_type}, but its bytes are ${mediaType}`,
      );
    }
    const sha256 = createHash('sha256').update(bytes).digest('hex');
    const kept = path.join(this.#directory, sha256);
    await this.#write(kept, bytes);
    return { type: 'image', path: kept, media_type: mediaType, bytes: bytes.length, sha256 };
  }

  /** Writes a copy whole and synced, or not at all; the same bytes are written once. */
  async #write(file: string, bytes: Buffer): Promise<void> {
    await fs.mkdir(this.#directory, { recursive: true, mode: 0o700 });
    try {
      if (isCopy(await fs.lstat(file), bytes)) return;
    } catch {
      // There is no copy yet.
    }
    const draft = await fs.mkdtemp(path.join(this.#directory, '.draft-'));
    try {
      const written = path.join(draft, 'image');
      await fs.writeFile(written, bytes, { mode: 0o600, flush: true });
      await fs.rename(written, file);
      await syncDirectory(this.#directory);
    } finally {
      await fs.rm(draft, { recursive: true, force: true });
    }
  }
}

/** Whether a file is the copy that its name promises, as far as its size tells. */
function isCopy(found: Stats, bytes: Buffer): boolean {
  return found.isFile() && found.size === bytes.length;
}

/** The bytes of an image by its absolute path, which may lead through links. Others can replace the file meanwhile. */
async function readImage(file: string): Promise<Buffer> {
  try {
    const real = await fs.realpath(file);
    const { dir, base } = path.parse(real);
    const bytes = await readForeignFile(dir, base, { maxBytes: MAX_IMAGE_BYTES });
    if (bytes === null) throw new ForeignFileError(`${file} is gone`);
    return bytes;
  } catch (error) {
    throw new AppError('invalid', `the image ${file} cannot be read: ${(error as Error).message}`);
  }
}

async function syncDirectory(directory: string): Promise<void> {
  const handle = await fs.open(directory, constants.O_RDONLY | constants.O_DIRECTORY);
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
