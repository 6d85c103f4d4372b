import type { HistoryFiles } from './history-files.ts';
import { beginTurn, endTurn, type History, type Message, type ModeId } from './history.ts';

/** What a session needs to know of a turn to stop it. */
export interface Stoppable {
  /** The client cancels; a turn may have been told not to listen. */
  cancel(): void;
  /** The session is closed; a turn has no say in it. */
  abandon(): void;
}

/** A session in memory: its history, saved with every change, and the turns it was asked for. */
export class Session {
  #history: History;
  readonly #files: HistoryFiles;
  /** The running turn and those queued behind it. */
  readonly #turns = new Set<Stoppable>();
  #lastTurn: Promise<unknown> = Promise.resolve();

  constructor(history: History, files: HistoryFiles) {
    this.#history = history;
    this.#files = files;
  }

  get history(): History {
    return this.#history;
  }

  /** Runs `run` after all turns that were asked for before. */
  enqueue<Result>(turn: Stoppable, run: () => Promise<Result>): Promise<Result> {
    this.#turns.add(turn);
    const result = this.#lastTurn.then(run).finally(() => this.#turns.delete(turn));
    this.#lastTurn = result.catch(() => undefined);
    return result;
  }

  /** Cancels the running turn and the queued ones: all that was asked for before. */
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
