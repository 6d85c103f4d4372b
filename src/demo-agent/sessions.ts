import { RequestError, type SessionInfo } from '@agentclientprotocol/sdk/unstable';
import type { HistoryFiles, StoredSession } from './history-files.ts';
import { newHistory } from './history.ts';
import { Session } from './session.ts';

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

  /** Opens a session from disk; one that is open stays what it is. */
  open(sessionId: string, cwd: string): Session {
    const open = this.#open.get(sessionId);
    const history = open?.history ?? this.#files.read(sessionId);
    if (!history) throw RequestError.sessionNotFound(sessionId);
    return this.#add(open ?? new Session(history, this.#files), cwd);
  }

  /** The open session of that id. */
  get(sessionId: string): Session {
    const session = this.#open.get(sessionId);
    if (!session) throw RequestError.sessionNotFound(sessionId);
    return session;
  }

  /** Cancels what was asked of it so far; nothing to do if it is not open. */
  cancel(sessionId: string): void {
    this.#open.get(sessionId)?.cancel();
  }

  /** Ends its turns. It stays on disk and can be opened again. */
  async close(sessionId: string): Promise<void> {
    const session = this.get(sessionId);
    this.#open.delete(sessionId);
    await session.close();
  }

  /** All sessions on disk, newest first, of one directory if that is given. */
  list(cwd: string | undefined): SessionInfo[] {
    const stored = this.#files.list();
    return stored.filter(({ history }) => !cwd || history.cwd === cwd).map(infoOf);
  }

  /** Resolves when no session has a turn to run. */
  async settled(): Promise<void> {
    await Promise.all(Array.from(this.#open.values(), (session) => session.settled()));
  }

  #add(session: Session, cwd: string): Session {
    // Saved before the first prompt already, so that a session can be opened as soon as it is known.
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
