import { hash } from 'node:crypto';
import fs from 'node:fs/promises';
import path from 'node:path';
import { invalidError } from '../../../api/errors.ts';
import { ForeignFileError, readForeignFile } from '../../../core/lib/foreign-file.ts';
import { syncDirectory } from '../../../core/lib/sync-directory.ts';
import { codeOf, unless } from '../../../core/lib/system-error.ts';
import type { InputItem, StoredInputItem } from '../../../api/input.ts';

const MAX_IMAGES = 8;
export const MAX_IMAGE_BYTES = 5 * 1024 * 1024;
/** The beginning of the names of directories in which copies are written. */
const DRAFT = '.draft-';

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

/** Copies of images, named by the SHA-256 of their bytes, so that the images of a turn never change. */
export class Blobs {
  readonly #directory: string;
  readonly #assertRoom: () => void;
  #prepared: Promise<void> | undefined;

  /** `assertRoom` throws if there is no room for new files of agents. */
  constructor(directory: string, assertRoom: () => void = () => undefined) {
    this.#directory = directory;
    this.#assertRoom = assertRoom;
  }

  /**
   * Copies each image, and returns the input with the paths of the copies, which are then on disk. At most 8 images of
   * at most 5 MiB are accepted, whose bytes are PNG, JPEG, GIF or WebP. `directoryOf` resolves with the base of
   * relative paths, and is called only if there is one. Throws `invalid`; copies made before that stay.
   */
  async copyImages(
    input: readonly InputItem[],
    directoryOf: () => Promise<string>,
  ): Promise<StoredInputItem[]> {
    const count = input.filter(({ type }) => type === 'image').length;
    if (count > MAX_IMAGES)
      throw invalidError(
        `the input has too many images (${count}): the maximum is ${MAX_IMAGES} images`,
      );
    const isRelative = input.some((item) => 'path' in item && !path.isAbsolute(item.path));
    const directory = isRelative ? await directoryOf() : '/';
    return Promise.all(
      input.map(async (item) => (item.type === 'text' ? item : this.#copyImage(item, directory))),
    );
  }

  /** Keeps a file that an agent shows. Resolves with null for an empty one and one above 5 MiB; rejects without room. */
  async saveFile(data: Buffer): Promise<{ path: string; bytes: number } | null> {
    if (data.length === 0 || data.length > MAX_IMAGE_BYTES) return null;
    this.#assertRoom();
    const copy = await this.#write(hash('sha256', data, 'hex'), data);
    return { path: copy, bytes: data.length };
  }

  async #copyImage(
    item: Exclude<InputItem, { type: 'text' }>,
    directory: string,
  ): Promise<StoredInputItem> {
    const name = 'path' in item ? path.resolve(directory, item.path) : 'sent as base64';
    const bytes = 'path' in item ? await readImage(name) : Buffer.from(item.data, 'base64');
    const mediaType = signatures.find(([, matches]) => matches(bytes))?.[0];
    if (bytes.length > MAX_IMAGE_BYTES) {
      throw invalidError(
        `the image (${name}) is too large (${bytes.length} bytes): the maximum is ${MAX_IMAGE_BYTES} bytes`,
      );
    }
    if (!mediaType)
      throw invalidError(`the image (${name}) is not in the format PNG, JPEG, GIF or WebP`);
    if ('media_type' in item && item.media_type !== undefined && item.media_type !== mediaType) {
      throw invalidError(
        `the image (${name}) has the media_type ${item.media_type}, but its content is ${mediaType}`,
      );
    }
    const sha256 = hash('sha256', bytes, 'hex');
    const copy = await this.#write(sha256, bytes);
    return { type: 'image', path: copy, media_type: mediaType, bytes: bytes.length, sha256 };
  }

  /** Writes a copy with fsync and an atomic rename, unless it is there already. Resolves with its path. */
  async #write(name: string, bytes: Buffer): Promise<string> {
    const file = path.join(this.#directory, name);
    await (this.#prepared ??= this.#removeDrafts());
    await fs.mkdir(this.#directory, { recursive: true, mode: 0o700 });
    try {
      const found = await fs.lstat(file);
      // The bytes are not compared, because the name is their digest.
      if (found.isFile() && found.size === bytes.length) return file;
    } catch {
      // There is no copy yet.
    }
    const draft = await fs.mkdtemp(path.join(this.#directory, DRAFT));
    try {
      const written = path.join(draft, 'image');
      await fs.writeFile(written, bytes, { mode: 0o600, flush: true });
      await fs.rename(written, file);
      await syncDirectory(this.#directory);
      return file;
    } finally {
      await fs.rm(draft, { recursive: true, force: true });
    }
  }

  /** Removes the drafts that a crash has left. Must run before the first draft of this server. Never rejects. */
  async #removeDrafts(): Promise<void> {
    const names = await fs.readdir(this.#directory).catch(() => []);
    for (const name of names.filter((one) => one.startsWith(DRAFT)))
      await fs
        .rm(path.join(this.#directory, name), { recursive: true, force: true })
        .catch(() => undefined);
  }
}

/** Reads an image by its absolute path. Symbolic links are resolved first; the file may be replaced at any time. */
async function readImage(file: string): Promise<Buffer> {
  try {
    const real = await fs.realpath(file);
    const { dir, base } = path.parse(real);
    const bytes = await readForeignFile(dir, base, { maxBytes: MAX_IMAGE_BYTES });
    if (bytes === null) throw new ForeignFileError(`the file ${file} no longer exists`);
    return bytes;
  } catch (error) {
    throw invalidError(`cannot read the image ${file}: ${reasonOf(error)}`);
  }
}

function reasonOf(error: unknown): string {
  const code = codeOf(error);
  if (['ENOENT', 'ENOTDIR'].includes(code)) return 'the file does not exist';
  if (code === 'EACCES') return 'the user who runs the server has no permission to read the file';
  return (error as Error).message;
}

export interface ImagesReport {
  files: number;
  bytes: number;
}

/** Compares stored images with the digests that name them. Calls `onDamage` for each file that differs. */
export async function checkImages(options: {
  images: string;
  signal: AbortSignal;
  onProgress: (files: number, bytes: number) => void;
  onDamage: (image: string) => void;
}): Promise<ImagesReport> {
  const { images, signal, onProgress, onDamage } = options;
  const report: ImagesReport = { files: 0, bytes: 0 };
  for (const image of await imagesIn(images)) {
    signal.throwIfAborted();
    const bytes = await readImageOf(images, image);
    if (bytes === 'removed') continue;
    report.files++;
    if (bytes !== 'damaged' && hash('sha256', bytes, 'hex') === image) report.bytes += bytes.length;
    else onDamage(image);
    onProgress(report.files, report.bytes);
  }
  return report;
}

async function imagesIn(directory: string): Promise<string[]> {
  const names = (await fs.readdir(directory).catch(unless('ENOENT'))) ?? [];
  return names.filter((name) => /^[\da-f]{64}$/.test(name)).toSorted();
}

async function readImageOf(
  directory: string,
  name: string,
): Promise<Buffer | 'damaged' | 'removed'> {
  try {
    return (await readForeignFile(directory, name, { maxBytes: MAX_IMAGE_BYTES })) ?? 'removed';
  } catch (error) {
    if (error instanceof ForeignFileError) return 'damaged';
    throw error;
  }
}
