import { RequestError, type SessionInfo } from '@agentclientprotocol/sdk/unstable';
import {
  type HistoryFiles,
  type StoredSession,
  newHistory,
  beginTurn,
  endTurn,
  type History,
  type Message,
  type ModeId,
} from './history.ts';

/** The part of a turn that a session needs in order to stop it. */
export interface Stoppable {
  /** Cancels the turn at the client's request; the script's `ignore-cancel` makes it have no effect. */
  cancel(): void;
  /** Ends the turn because the session closes; `ignore-cancel` does not prevent that. */
  abandon(): void;
}

/** A session in memory: its history, which is saved at every change, and its queue of turns. */
export class Session {
  #history: History;
  readonly #files: Pick<HistoryFiles, 'save'>;
  /** The running turn and those queued behind it. */
  readonly #turns = new Set<Stoppable>();
  #lastTurn: Promise<unknown> = Promise.resolve();
  /** Whether a turn has met the usage limit of a script, which lets the next one pass. */
  hasMetLimit = false;

  constructor(history: History, files: Pick<HistoryFiles, 'save'>) {
    this.#history = history;
    this.#files = files;
  }

  get history(): History {
    return this.#history;
  }

  /** Calls `run` after all turns that were queued before have ended. */
  enqueue<Result>(turn: Stoppable, run: () => Promise<Result>): Promise<Result> {
    this.#turns.add(turn);
    const result = this.#lastTurn.then(run).finally(() => this.#turns.delete(turn));
    this.#lastTurn = result.catch(() => undefined);
    return result;
  }

  cancel(): void {
    for (const turn of this.#turns) turn.cancel();
  }

  /** Ends all turns; resolves when they have ended. */
  async close(): Promise<void> {
    for (const turn of this.#turns) turn.abandon();
    await this.settled();
  }

  async settled(): Promise<void> {
    await this.#lastTurn;
  }

  beginTurn(prompt: string): void {
    this.#save(beginTurn(this.#history, prompt));
  }

  endTurn(messages: Message[], tokens: number): void {
    this.#save(endTurn(this.#history, messages, tokens));
  }

  setMode(mode: ModeId): void {
    this.#save({ ...this.#history, mode });
  }

  setCwd(cwd: string): void {
    this.#save({ ...this.#history, cwd });
  }

  #save(history: History): void {
    this.#history = history;
    this.#files.save(history);
  }
}

const titleLength = 60;

/** The sessions that are open, and those on disk that can be opened. */
export class Sessions {
  readonly #open = new Map<string, Session>();
  readonly #files: HistoryFiles;

  constructor(files: HistoryFiles) {
    this.#files = files;
  }

  create(sessionId: string, cwd: string): Session {
    return this.#add(new Session(newHistory(sessionId, cwd), this.#files), cwd);
  }

  /** Opens a session from disk, or returns it if it is open already. Its working directory becomes `cwd`. */
  open(sessionId: string, cwd: string): Session {
    const open = this.#open.get(sessionId);
    const history = open?.history ?? this.#files.read(sessionId);
    if (!history) throw RequestError.sessionNotFound(sessionId);
    return this.#add(open ?? new Session(history, this.#files), cwd);
  }

  /** Creates a session with the history of another one, which does not change. */
  fork(originId: string, sessionId: string, cwd: string): Session {
    const history = this.#open.get(originId)?.history ?? this.#files.read(originId);
    if (!history) throw RequestError.sessionNotFound(originId);
    return this.#add(new Session({ ...history, sessionId }, this.#files), cwd);
  }

  /** Returns the open session with that id. Throws `sessionNotFound` if none is open. */
  get(sessionId: string): Session {
    const session = this.#open.get(sessionId);
    if (!session) throw RequestError.sessionNotFound(sessionId);
    return session;
  }

  /** Cancels the running and queued turns of a session; does nothing if the session is not open. */
  cancel(sessionId: string): void {
    this.#open.get(sessionId)?.cancel();
  }

  /** Ends the turns of a session and closes it. It stays on disk and can be opened again. */
  async close(sessionId: string): Promise<void> {
    const session = this.get(sessionId);
    this.#open.delete(sessionId);
    await session.close();
  }

  /** All sessions on disk, newest first; only those with the working directory `cwd` if it is not undefined. */
  list(cwd: string | undefined): SessionInfo[] {
    const stored = this.#files.list();
    return stored.filter(({ history }) => !cwd || history.cwd === cwd).map(infoOf);
  }

  /** Resolves when no session has a running or queued turn. */
  async settled(): Promise<void> {
    await Promise.all(Array.from(this.#open.values(), (session) => session.settled()));
  }

  #add(session: Session, cwd: string): Session {
    // This saves the session before its first prompt, so that a client that knows its id can open it at once.
    session.setCwd(cwd);
    this.#open.set(session.history.sessionId, session);
    return session;
  }
}

function infoOf({ history, updatedAt }: StoredSession): SessionInfo {
  const firstLine = history.turns[0]?.prompt.split('\n', 1)[0] ?? '';
  return {
    sessionId: history.sessionId,
    cwd: history.cwd,
    title: firstLine.slice(0, titleLength) || null,
    updatedAt: updatedAt.toISOString(),
  };
}
