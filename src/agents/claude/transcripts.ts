import fs from 'node:fs/promises';
import path from 'node:path';

const SUFFIX = '.jsonl';

/** The ids of the sessions that have a transcript; null where the configuration directory does not exist. */
export async function listTranscripts(configDirectory: string): Promise<Set<string> | null> {
  if ((await namesIn(configDirectory)) === null) return null;
  const projects = path.join(configDirectory, 'projects');
  const ids = new Set<string>();
  for (const project of (await namesIn(projects)) ?? []) {
    for (const name of (await namesIn(path.join(projects, project))) ?? [])
      if (name.endsWith(SUFFIX)) ids.add(name.slice(0, -SUFFIX.length));
  }
  return ids;
}

async function namesIn(directory: string): Promise<string[] | null> {
  try {
    return await fs.readdir(directory);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return null;
    throw error;
  }
}
