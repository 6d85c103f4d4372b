import { mkdirSync, readdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';

/** The modes a session can be in. In `full_access` the agent asks for no permission. */
export const modeIds = ['default', 'read_only', 'workspace_write', 'full_access'] as const;

export type ModeId = (typeof modeIds)[number];

const messageSchema = z.object({ messageId: z.string(), text: z.string() });

export type Message = z.infer<typeof messageSchema>;

/** A session as it is stored. */
const historySchema = z.object({
  sessionId: z.string(),
  cwd: z.string(),
  mode: z.enum(modeIds),
  turnCount: z.int(),
  tokens: z.int(),
  turns: z.array(
    z.object({ number: z.int(), prompt: z.string(), messages: z.array(messageSchema) }),
  ),
});

export type History = z.infer<typeof historySchema>;

// Each turn rewrites the whole file twice, so its size must not grow with the length of the session.
const keptTurns = 100;
const keptCharacters = 16_384;

export function newHistory(sessionId: string, cwd: string): History {
  return { sessionId, cwd, mode: 'default', turnCount: 0, tokens: 0, turns: [] };
}

/** The history with a new turn at its end, which has only its prompt so far. */
export function beginTurn(history: History, prompt: string): History {
  const number = history.turnCount + 1;
  const turn = { number, prompt: prompt.slice(0, keptCharacters), messages: [] };
  return { ...history, turnCount: number, turns: [...history.turns, turn].slice(-keptTurns) };
}

/** The history with the agent's messages added to its last turn. */
export function endTurn(history: History, messages: Message[], tokens: number): History {
  const last = history.turns.at(-1);
  if (!last) return history;
  const turns = [...history.turns.slice(0, -1), { ...last, messages }];
  return { ...history, turns, tokens: history.tokens + tokens };
}

/** The messages with a chunk appended: to the last message if it has the same id. Beyond `keptCharacters` it is cut. */
export function addChunk(messages: Message[], messageId: string, chunk: string): Message[] {
  const room = keptCharacters - messages.reduce((sum, { text }) => sum + text.length, 0);
  if (room <= 0) return messages;
  const text = chunk.slice(0, room);
  const last = messages.at(-1);
  if (last?.messageId !== messageId) return [...messages, { messageId, text }];
  return [...messages.slice(0, -1), { messageId, text: last.text + text }];
}

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
  /** Returns the sessions, newest first. Sessions with a damaged file are left out. */
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
