import fs from 'node:fs/promises';
import path from 'node:path';
import { realPath } from '../../lib/paths.ts';

/** The directories of cadre that a sandbox has as its home directory, as /tmp and as directories of its agent, and the directory of its stand-ins. */
export interface PrivateDirs {
  home: string;
  tmp: string;
  git: string;
  scratch: string;
}

/** Returns the own directories in a directory. */
export function privateDirsIn(directory: string): PrivateDirs {
  const at = (name: string) => path.join(directory, name);
  return { home: at('home'), tmp: at('tmp'), git: at('git'), scratch: at('scratch') };
}

/** The directory that contains the own directories names their owner. */
export function ownerOf({ home }: PrivateDirs): string {
  return path.dirname(home);
}

/** Creates the own directories of a session for directories of its agent. */
export async function scratchOf(
  directories: readonly string[],
  { scratch }: PrivateDirs,
): Promise<{ at: string; source: string }[]> {
  const made = [];
  for (const one of directories) {
    const source = path.join(scratch, path.basename(one));
    await fs.mkdir(source, { recursive: true, mode: 0o700 });
    made.push({ at: await realPath(one), source });
  }
  return made;
}
