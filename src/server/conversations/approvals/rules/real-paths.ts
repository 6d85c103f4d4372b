import fs from 'node:fs/promises';
import path from 'node:path';
import type { Clock } from '../../../../core/lib/clock.ts';
import { reachesUnwritten } from './own-names.ts';
import { isInside } from '../../../../core/lib/paths.ts';

/** How long the file system may take for all paths of one request, in ms. */
const LIMIT_MS = 3000;

/** A call of the system that takes longer counts as one that hangs, in ms. */
const HANGS_MS = 1000;

/** Longer paths belong to no file. Characters. */
export const MAX_PATH = 4096;

/**
 * Returns a path with all symbolic links resolved; what does not exist keeps its name. Null if the path is uncertain: a
 * link has no target, so that a write would create a file elsewhere, or the file system did not respond in time.
 */
export type RealPath = (absolute: string) => Promise<string | null>;

/**
 * Resolves paths that agents choose, without waiting for a mount that hangs. Such a system call blocks a thread of Node
 * until the mount responds. Therefore only one call runs at a time, and while a call hangs, every other path is uncertain
 * at once.
 */
export class RealPaths {
  readonly #clock: Clock;
  readonly #files: Pick<typeof fs, 'lstat' | 'realpath'>;
  #running: Promise<unknown> | null = null;
  #since = 0;

  constructor({
    clock,
    files = fs,
  }: {
    clock: Clock;
    files?: Pick<typeof fs, 'lstat' | 'realpath'>;
  }) {
    this.#clock = clock;
    this.#files = files;
  }

  /** Runs `work` with a function that resolves paths; all its calls together have one time limit. */
  async within<T>(work: (realPath: RealPath) => Promise<T>): Promise<T> {
    const limit = Promise.withResolvers<never>();
    limit.promise.catch(() => undefined);
    let isOver = false;
    using _timer = this.#clock.after(LIMIT_MS, () => {
      isOver = true;
      limit.reject(new NoAnswer());
    });
    const call = async <R>(one: () => Promise<R>): Promise<R> => {
      while (this.#running && !this.#hangs() && !isOver)
        await Promise.race([this.#running, limit.promise]);
      if (this.#running || isOver) throw new NoAnswer();
      const answer = one();
      this.#since = this.#clock.monotonic();
      this.#running = answer
        .catch(() => undefined)
        .then(() => {
          this.#running = null;
        });
      return Promise.race([answer, limit.promise]);
    };
    return await work((absolute) => this.#real(absolute, call));
  }

  #hangs(): boolean {
    return this.#clock.monotonic() - this.#since >= HANGS_MS;
  }

  /** The directories of a path are halved, so that a long one costs little. */
  async #real(absolute: string, call: Call): Promise<string | null> {
    if (absolute.length > MAX_PATH) return null;
    const names = absolute.split('/').filter((name) => name !== '');
    const upTo = (count: number) => `/${names.slice(0, count).join('/')}`;
    let there = 0;
    let missing = names.length + 1;
    try {
      while (missing - there > 1) {
        const middle = Math.floor((there + missing) / 2);
        if (await this.#isThere(upTo(middle), call)) there = middle;
        else missing = middle;
      }
      const real = await call(() => this.#files.realpath(upTo(there)));
      return path.join(real, ...names.slice(there));
    } catch {
      return null;
    }
  }

  /** Whether there is something of that name, or a link. Throws if that is not certain. */
  async #isThere(file: string, call: Call): Promise<boolean> {
    try {
      await call(() => this.#files.lstat(file));
      return true;
    } catch (error) {
      const { code = '' } = error as NodeJS.ErrnoException;
      if (['ENOENT', 'ENOTDIR', 'ENAMETOOLONG'].includes(code)) return false;
      throw error;
    }
  }
}

type Call = <R>(one: () => Promise<R>) => Promise<R>;

class NoAnswer extends Error {}

/** More names of files in the commands of one request are not looked up. */
const MAX_NAMES = 1000;

/** A name in a command, the directory that it has to stay in ('': the directory of the command), and the directory of the command. */
interface Asked {
  name: string;
  outer: string;
  cwd: string;
}

/**
 * The real paths of names in commands. The evaluation of rules does not wait for a name: if the real path of a name is
 * unknown, the name is recorded, and the rules are evaluated again after its lookup.
 */
export class CommandNames {
  readonly #known = new Map<string, boolean>();
  readonly #asked = new Map<string, Asked>();
  #isClosed = false;

  /** Whether a link puts the file out of its directory or among hidden files. False before a look-up; true without one. */
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
