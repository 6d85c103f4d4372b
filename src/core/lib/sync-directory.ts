import { constants } from 'node:fs';
import fs from 'node:fs/promises';

/** Makes what was created, renamed or removed in a directory outlast a power cut. Rejects with the error of the system. */
export async function syncDirectory(directory: string): Promise<void> {
  const handle = await fs.open(directory, constants.O_RDONLY | constants.O_DIRECTORY);
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
