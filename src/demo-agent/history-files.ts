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
  /** Undefined if there is no such session. Throws if its file is damaged. */
  read(sessionId: string): History | undefined;
  /** Newest first, without those whose file is damaged. */
  list(): StoredSession[];
}

/**
 * Keeps each session as one JSON file that only its user can read. The calls are synchronous: the files
 * are small, and no two writes of a process can meet.
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
  // Replaced in one step: whoever dies while writing leaves the file that was there. The process id
  // keeps apart two processes that hold the same session.
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
