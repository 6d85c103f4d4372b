import { mkdirSync, readdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { historySchema, type History } from './history.ts';

/** A session on disk and when it last changed. */
export interface StoredSession {
  readonly history: History;
  readonly updatedAt: Date;
}

/** The sessions on disk. */
export interface HistoryFiles {
  save(history: History): void;
  /** Returns undefined if there is no such session. Throws if its file is damaged. */
  read(sessionId: string): History | undefined;
  /** The sessions, newest first. Those with a damaged file are left out. */
  list(): StoredSession[];
}

/**
 * Stores each session as one JSON file that only its user can read. The calls are synchronous, because the
 * files are small and two writes of one process then cannot interleave.
 */
export function historyFiles(directory: string): HistoryFiles {
  return {
    save: (history) => save(join(directory, `${history.sessionId}.json`), history),
    read(sessionId) {
      // The id comes from the client and becomes a path.
      if (!/^[\w-]+$/u.test(sessionId)) return undefined;
      return readIfThere(join(directory, `${sessionId}.json`))?.history;
    },
    list: () =>
      namesIn(directory)
        .filter((name) => name.endsWith('.json'))
        .flatMap((name) => readIfSound(join(directory, name)) ?? [])
        .toSorted((a, b) => b.updatedAt.getTime() - a.updatedAt.getTime()),
  };
}

function save(path: string, history: History) {
  mkdirSync(join(path, '..'), { recursive: true, mode: 0o700 });
  // The rename replaces the file atomically: a crash while writing leaves the old file. The process id in the
  // name keeps two processes that have the same session open from writing to one temporary file.
  const temporary = `${path}.${process.pid}.tmp`;
  writeFileSync(temporary, JSON.stringify(history), { mode: 0o600 });
  renameSync(temporary, path);
}

function readIfThere(path: string): StoredSession | undefined {
  try {
    const history = historySchema.parse(JSON.parse(readFileSync(path, 'utf8')));
    return { history, updatedAt: statSync(path).mtime };
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

function readIfSound(path: string): StoredSession | undefined {
  try {
    return readIfThere(path);
  } catch {
    return undefined;
  }
}

function namesIn(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch (error) {
    if (isMissing(error)) return [];
    throw error;
  }
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT';
}
