import { mkdirSync, readdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';

/** The modes a session can be in. */
export const modeIds = ['default', 'read_only', 'workspace_write', 'full_access'] as const;

export type ModeId = (typeof modeIds)[number];

const messageSchema = z.object({ messageId: z.string(), text: z.string() });

export type Message = z.infer<typeof messageSchema>;

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

export interface StoredSession {
  readonly history: History;
  readonly updatedAt: Date;
}

/** Stores each session as one JSON file. The calls are synchronous, so that two writes of one process cannot interleave. */
export class HistoryFiles {
  readonly #directory: string;

  constructor(directory: string) {
    this.#directory = directory;
  }

  save(history: History): void {
    mkdirSync(this.#directory, { recursive: true, mode: 0o700 });
    const file = join(this.#directory, `${history.sessionId}.json`);
    // The rename replaces the file atomically: a crash while writing leaves the old file. The process id in the
    // name keeps two processes that have the same session open from writing to one temporary file.
    const temporary = `${file}.${process.pid}.tmp`;
    writeFileSync(temporary, JSON.stringify(history), { mode: 0o600 });
    renameSync(temporary, file);
  }

  /** Returns undefined if the session does not exist. Throws if its file is damaged. */
  read(sessionId: string): History | undefined {
    // The id comes from the client and becomes a path.
    if (!/^[\w-]+$/u.test(sessionId)) return undefined;
    return unlessMissing(() => this.#stored(`${sessionId}.json`))?.history;
  }

  /** Returns the sessions, newest first. Sessions with a damaged file are left out. */
  list(): StoredSession[] {
    const names = unlessMissing(() => readdirSync(this.#directory)) ?? [];
    return names
      .filter((name) => name.endsWith('.json'))
      .flatMap((name) => {
        try {
          return [this.#stored(name)];
        } catch {
          return [];
        }
      })
      .toSorted((a, b) => b.updatedAt.getTime() - a.updatedAt.getTime());
  }

  #stored(name: string): StoredSession {
    const file = join(this.#directory, name);
    const history = historySchema.parse(JSON.parse(readFileSync(file, 'utf8')));
    return { history, updatedAt: statSync(file).mtime };
  }
}

function unlessMissing<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  }
}
