import path from 'node:path';
import { readSmallFile } from '../core/lib/foreign-file.ts';
import { makeDirectory } from '../core/lib/make-directory.ts';
import { replaceFile } from '../core/lib/replace-file.ts';
import type { ServerSnapshot } from './servers.ts';

/** The maximum number of records of each noun; the newest ones are kept. */
const KEPT = 500;
const MAX_BYTES = 64 * 1024 * 1024;

/** The last lists of servers, each in a file. The directory can be removed at any time. */
export class ServerListCache {
  readonly #directory: string;
  readonly #now: () => number;

  /** `now` is in Unix milliseconds. */
  constructor(directory: string, now: () => number) {
    this.#directory = directory;
    this.#now = now;
  }

  /** Keeps lists; absent ones stay as they are. Without write access to the directory, it keeps nothing. */
  write(name: string, listed: Partial<ServerSnapshot>): void {
    const isWhole = listed.sessions && listed.approvals && listed.processes;
    const {
      sessions = [],
      approvals = [],
      processes = [],
    } = isWhole ? {} : (this.read(name) ?? {});
    const next = { sessions, approvals, processes, ...listed, at: this.#now() };
    try {
      makeDirectory(this.#directory);
      replaceFile(this.#file(name), JSON.stringify(cut(next)));
    } catch {
      // The kept lists are only a convenience.
    }
  }

  /** Null where nothing is known, or the file is damaged. */
  read(name: string): ServerSnapshot | null {
    try {
      const { text } = readSmallFile(this.#file(name), { maxBytes: MAX_BYTES });
      const known = JSON.parse(text) as ServerSnapshot;
      const lists: unknown[] = [known.sessions, known.approvals, known.processes];
      return Number.isFinite(known.at) && lists.every(Array.isArray) ? known : null;
    } catch {
      return null;
    }
  }

  #file(name: string): string {
    return path.join(this.#directory, `${encodeURIComponent(name)}.json`);
  }
}

function cut({ sessions, approvals, processes, ...known }: ServerSnapshot): ServerSnapshot {
  return {
    ...known,
    sessions: sessions.slice(0, KEPT),
    approvals: approvals.slice(0, KEPT),
    processes: processes.slice(0, KEPT),
  };
}
