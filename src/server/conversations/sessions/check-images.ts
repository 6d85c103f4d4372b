import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import fs from 'node:fs/promises';
import path from 'node:path';
import { pipeline } from 'node:stream/promises';

/** The stored images and files of agents that a check has read. */
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
    const found = await digestOf(path.join(images, image));
    if (found === 'removed') continue;
    report.files++;
    if (found.digest === image) report.bytes += found.bytes;
    else onDamage(image);
    onProgress(report.files, report.bytes);
  }
  return report;
}

async function imagesIn(directory: string): Promise<string[]> {
  const names = await fs.readdir(directory).catch((error: unknown) => {
    if (isMissing(error)) return [];
    throw error;
  });
  return names.filter((name) => /^[\da-f]{64}$/.test(name)).toSorted();
}

async function digestOf(file: string): Promise<'removed' | { digest: string; bytes: number }> {
  try {
    // A pipe or a device in the place of an image could never end.
    const found = await fs.lstat(file);
    if (!found.isFile()) return { digest: '', bytes: 0 };
    const digest = createHash('sha256');
    await pipeline(createReadStream(file), digest);
    return { digest: digest.digest('hex'), bytes: found.size };
  } catch (error) {
    if (isMissing(error)) return 'removed';
    throw error;
  }
}

function isMissing(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === 'ENOENT';
}
