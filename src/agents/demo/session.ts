import type { HistoryFiles } from './history-files.ts';
import { beginTurn, endTurn, type History, type Message, type ModeId } from './history.ts';

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
  readonly #files: HistoryFiles;
  /** The running turn and those queued behind it. */
  readonly #turns = new Set<Stoppable>();
  #lastTurn: Promise<unknown> = Promise.resolve();
  /** Whether a turn has met the usage limit of a script, which lets the next one pass. */
  hasMetLimit = false;

  constructor(history: History, files: HistoryFiles) {
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

  /** Cancels the running turn and the queued ones. */
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
