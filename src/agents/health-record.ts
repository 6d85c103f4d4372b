import { plain } from '../core/lib/plain.ts';
import { ProviderError, type TurnOutcome } from './provider.ts';

/** The observations of a provider about its agents, for health and diagnostics. */
export class HealthRecord {
  version: string | null = null;
  unknownMessages = 0;
  #lastError: string | null = null;
  #startFailure: string | null = null;
  #isLoggedOut = false;

  stats(command: string | null) {
    return {
      version: this.version,
      command,
      pid: null,
      unknown_messages: this.unknownMessages,
      last_error: this.#lastError,
    };
  }

  /** Why the last start of an agent failed; null where it did not, or none was started yet. */
  get startFailure(): string | null {
    return this.#startFailure;
  }

  /** Whether the last turn that needed a login failed for want of one. */
  get isLoggedOut(): boolean {
    return this.#isLoggedOut;
  }

  /** Keeps what the end of a turn shows of the login, and returns that end. */
  ended(outcome: TurnOutcome): TurnOutcome {
    if (outcome.error?.code === 'auth_required') this.#isLoggedOut = true;
    if (outcome.status === 'completed') this.#isLoggedOut = false;
    return outcome;
  }

  /** Forgets that nobody was logged in: a login was changed. */
  loginChanged(): void {
    this.#isLoggedOut = false;
  }

  /** Keeps an error as the newest one. */
  note(error: unknown): void {
    this.#lastError = plain(error instanceof Error ? error.message : String(error));
  }

  /** Waits for work, and keeps its error if it fails. Work that fails after `signal` aborted has not failed. */
  async noted<T>(work: Promise<T>, signal?: AbortSignal): Promise<T> {
    try {
      return await work;
    } catch (error) {
      if (!signal?.aborted) this.note(error);
      throw error;
    }
  }

  /**
   * Starts an agent, to where it answers, and keeps whether that failed. A start that fails after `signal` aborted
   * leaves the record as it is; an agent that refuses one session or mode has come up.
   */
  async started<T>(start: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    try {
      const agent = await start();
      this.#startFailure = null;
      return agent;
    } catch (error) {
      if (!signal?.aborted && error instanceof ProviderError)
        this.#startFailure = error.code === 'provider_unavailable' ? plain(error.message) : null;
      throw error;
    }
  }
}
