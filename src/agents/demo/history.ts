import { z } from 'zod';

/** The modes a session can be in. In `full_access` the agent asks for no permission. */
export const modeIds = ['default', 'read_only', 'workspace_write', 'full_access'] as const;

export type ModeId = (typeof modeIds)[number];

const messageSchema = z.object({ messageId: z.string(), text: z.string() });

/** One message of the agent. */
export type Message = z.infer<typeof messageSchema>;

/** A session as it is stored. */
export const historySchema = z.object({
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
