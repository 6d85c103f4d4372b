import type { Turn } from '../../../api/sessions.ts';
import type { UnsentMessage } from '../../../agents/attached-turn.ts';
import type { Agent } from '../../../agents/provider.ts';
import type {
  OutgoingMessage,
  ReadPosition,
  RequestOrigin,
} from '../../../agents/read-position.ts';
import type { Database } from '../../../core/store/database.ts';
import type { Statement } from '../../../core/store/statement.ts';
import type { Reader, Writer } from '../../../core/store/transaction.ts';
import type { SavedOutput } from './stored-output.ts';

/** A turn that has begun, and whose agent did not get the prompt. */
interface UnpromptedTurn {
  turn_id: string;
  position: null;
}

/** How far the output of the agent of a running turn is handled, for another server that continues the turn. */
export interface StoredReadPosition {
  turn_id: string;
  /** The process of the agent. */
  pid: number;
  /** How many servers have taken over the agent since the row was written by a turn. Absent: none. */
  attempts?: number;
  position: ReadPosition;
  output: SavedOutput;
  /** The approvals whose agent has no answer yet, with the agent's own ids of its requests. */
  asked: [approvalId: string, key: string][];
}

/**
 * One row for each session whose agent is at a turn. It is written in each transaction that stores something of the
 * agent, so each part of the output is stored once, whenever the server dies.
 */
export class AgentReadPositions {
  readonly #save: Statement;
  readonly #delete: Statement;
  readonly #find: Statement<[record: string]>;
  readonly #all: Statement<[sessionId: string, record: string]>;
  readonly #queue: Statement;
  readonly #queued: Statement<[n: number, line: string]>;
  readonly #dropQueued: Statement;

  constructor({ db }: { db: Database }) {
    this.#save = db.prepare(
      'INSERT OR REPLACE INTO agent_readers (session_id, record) VALUES (?, ?)',
    );
    this.#delete = db.prepare('DELETE FROM agent_readers WHERE session_id = ?');
    this.#find = db.prepare('SELECT record FROM agent_readers WHERE session_id = ?');
    this.#all = db.prepare('SELECT session_id, record FROM agent_readers');
    this.#queue = db.prepare('INSERT INTO agent_outgoing (session_id, n, line) VALUES (?, ?, ?)');
    this.#queued = db.prepare('SELECT n, line FROM agent_outgoing WHERE session_id = ? ORDER BY n');
    this.#dropQueued = db.prepare('DELETE FROM agent_outgoing WHERE session_id = ? AND n <= ?');
  }

  find(rx: Reader, sessionId: string): StoredReadPosition | UnpromptedTurn | null {
    const row = this.#find.get(rx, sessionId);
    return row ? (JSON.parse(row[0]) as StoredReadPosition | UnpromptedTurn) : null;
  }

  all(rx: Reader): { sessionId: string; reader: StoredReadPosition | UnpromptedTurn }[] {
    return this.#all.all(rx).map(([sessionId, record]) => ({
      sessionId,
      reader: JSON.parse(record) as StoredReadPosition | UnpromptedTurn,
    }));
  }

  /** Stores that an agent is about to get the prompt of a turn. */
  begin(tx: Writer, { session_id, turn_id }: Pick<Turn, 'session_id' | 'turn_id'>): void {
    this.save(tx, session_id, { turn_id, position: null });
  }

  save(tx: Writer, sessionId: string, reader: StoredReadPosition | UnpromptedTurn): void {
    this.#save.run(tx, sessionId, JSON.stringify(reader));
  }

  delete(tx: Writer, sessionId: string): void {
    this.#delete.run(tx, sessionId);
    this.dropQueued(tx, sessionId, Number.MAX_SAFE_INTEGER);
  }

  queue(tx: Writer, sessionId: string, { n, line }: Pick<UnsentMessage, 'n' | 'line'>): void {
    this.#queue.run(tx, sessionId, n, line);
  }

  /** Returns the messages to the agent of a session that its input may not have taken, in their order. */
  queued(rx: Reader, sessionId: string): Pick<UnsentMessage, 'n' | 'line'>[] {
    return this.#queued.all(rx, sessionId).map(([n, line]) => ({ n, line }));
  }

  /** The input of the agent has taken the messages up to a number. */
  dropQueued(tx: Writer, sessionId: string, upTo: number): void {
    this.#dropQueued.run(tx, sessionId, upTo);
  }
}

interface TurnReaderDeps {
  readers: AgentReadPositions;
  sessionId: string;
  turnId: string;
  /** Returns the agent that is at the turn, if there is one. */
  agentOf: () => Pick<Agent, 'pid' | 'output'> | undefined;
  /** The row of an earlier server. */
  stored: StoredReadPosition | undefined;
}

/** The row of one turn. */
export class TurnReadPosition {
  readonly #deps: TurnReaderDeps;
  readonly #asked: Map<string, string>;
  /** The newest number that the agent's input has taken, if its row and those before it are still there. */
  #taken: number | null = null;

  constructor(deps: TurnReaderDeps) {
    this.#deps = deps;
    this.#asked = new Map(deps.stored?.asked);
  }

  save(tx: Writer, output: SavedOutput): void {
    const { readers, sessionId, turnId: turn_id, agentOf } = this.#deps;
    const { pid, output: read } = agentOf() ?? {};
    if (!pid || !read) return;
    const { position } = read;
    readers.save(tx, sessionId, { turn_id, pid, position, output, asked: [...this.#asked] });
    tx.whenDurable(() => read.acknowledge(position.at));
    if (this.#taken === null) return;
    readers.dropQueued(tx, sessionId, this.#taken);
    this.#taken = null;
  }

  /** Stores a message to the agent. It is sent once it is on disk. */
  queue(tx: Writer, message: OutgoingMessage): void {
    const { n, line } = message;
    this.#deps.readers.queue(tx, this.#deps.sessionId, { n, line });
    for (const [approvalId, key] of this.#asked)
      if (key === message.answers) this.#asked.delete(approvalId);
    message.onStored();
    tx.whenDurable(() => void message.send().then(() => this.noteTaken(message.n)));
  }

  /** The agent's input has taken the messages up to a number. */
  noteTaken(n: number): void {
    this.#taken = n;
  }

  delete(tx: Writer): void {
    const { readers, sessionId, agentOf } = this.#deps;
    readers.delete(tx, sessionId);
    const read = agentOf()?.output;
    tx.whenDurable(() => read?.release());
  }

  /** A request of the agent is stored: its line need not be read again. */
  noteAsked(approvalId: string, { key, hold }: RequestOrigin): void {
    this.#asked.set(approvalId, key);
    hold[Symbol.dispose]();
  }
}
