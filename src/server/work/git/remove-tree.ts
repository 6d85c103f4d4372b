import fs from 'node:fs/promises';
import path from 'node:path';

/** Removes a directory and its content, even if write permission was removed somewhere in it. */
export async function removeTree(directory: string): Promise<void> {
  const remove = () => fs.rm(directory, { recursive: true, force: true, maxRetries: 2 });
  try {
    await remove();
  } catch (error) {
    if (!['EACCES', 'EPERM'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error;
    await openUp(directory);
    await remove();
  }
}

async function openUp(directory: string): Promise<void> {
  await fs.chmod(directory, 0o700);
  for (const entry of await fs.readdir(directory, { withFileTypes: true }))
    if (entry.isDirectory()) await openUp(path.join(directory, entry.name));
}
