import path from 'node:path';
import { reachesUnwritten } from './own-names.ts';
import { isInside } from '../../../../core/lib/paths.ts';
import type { RealPath } from './real-paths.ts';

/** More names of files in the commands of one request are not looked up. */
const MAX_NAMES = 1000;

/** A name in a command, the directory that it has to stay in ('': the directory of the command), and the directory of the command. */
interface Asked {
  name: string;
  outer: string;
  cwd: string;
}

/**
 * Where the names in commands lead. Rules ask for names while they are evaluated, which waits for nothing: a name that is
 * not known yet is noted, and all is evaluated once more when it is known.
 */
export class CommandNames {
  readonly #known = new Map<string, boolean>();
  readonly #asked = new Map<string, Asked>();
  #isClosed = false;

  /**
   * Whether a symbolic link puts the file of that name out of its directory, or among hidden files. False for a name that
   * was not looked up yet; true for one that never will be.
   */
  leadsOut(asked: Asked): boolean {
    const key = JSON.stringify([asked.cwd, asked.outer, asked.name]);
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    if (this.#isClosed || this.#known.size + this.#asked.size >= MAX_NAMES) return true;
    this.#asked.set(key, asked);
    return false;
  }

  /** Looks up the names that were asked for since; returns whether there were any. */
  async lookUp(realPath: RealPath): Promise<boolean> {
    const asked = [...this.#asked];
    for (const [key, one] of asked) this.#known.set(key, await leadsOut(one, realPath));
    this.#asked.clear();
    return asked.length > 0;
  }

  /** From now on a name that is not known leads out. */
  close(): void {
    this.#isClosed = true;
  }
}

async function leadsOut({ name, outer, cwd }: Asked, realPath: RealPath): Promise<boolean> {
  const directory = outer === '' ? cwd : await realPath(outer);
  const real = await realPath(path.resolve(cwd, name));
  return (
    directory === null ||
    real === null ||
    !isInside(real, directory) ||
    reachesUnwritten(path.relative(directory, real), name)
  );
}
