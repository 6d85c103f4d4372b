import path from 'node:path';
import { readForeignFile } from '../core/lib/foreign-file.ts';
import { ProviderError } from './provider.ts';
import type { StoredInputItem } from '../api/input.ts';

/**
 * An image of a turn as base64. An agent without a sandbox can write in the data directory, where the copy of the image
 * lies, so the copy is read as a foreign file. Throws ProviderError `unsupported_images` where that fails.
 */
export async function imageData(
  provider: string,
  item: Extract<StoredInputItem, { type: 'image' }>,
): Promise<string> {
  const unreadable = (why: string) =>
    new ProviderError('unsupported_images', `${provider}: cannot read the stored image: ${why}`);
  const { dir, base } = path.parse(item.path);
  const bytes = await readForeignFile(dir, base, { maxBytes: item.bytes }).catch(
    (error: unknown) => {
      throw unreadable((error as Error).message);
    },
  );
  if (bytes === null) throw unreadable(`"${item.path}" does not exist`);
  return bytes.toString('base64');
}
