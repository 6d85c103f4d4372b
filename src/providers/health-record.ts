import { plain } from '../lib/plain.ts';
import { ProviderError } from './provider.ts';

/** What a provider has seen of its agents, for its health and for diagnostics. */
export class HealthRecord {
  version: string | null = null;
  unknownMessages = 0;
  #lastError: string | null = null;
  #startFailure: string | null = null;

  stats(command: string | null) {
    return {
      version: this.version,
      command,
      pid: null,
      unknown_messages: this.unknownMessages,
      last_error: this.#lastError,
    };
  }

  /** Why the agent did not come up when it was last started; null: it did, or none was started yet. */
  get startFailure(): string | null {
    return this.#startFailure;
  }

  /** Keeps an error as the newest one. */
  note(error: unknown): void {
    this.#lastError = plain(error instanceof Error ? error.message : String(error));
  }

  /** Does work, and remembers why it failed if it does. What `signal` ends is no failure. */
  async noted<T>(work: Promise<T>, signal?: AbortSignal): Promise<T> {
    try {
      return await work;
    } catch (error) {
      if (!signal?.aborted) this.note(error);
      throw error;
    }
  }

  /**
   * Has an agent come up, to where it answers, and remembers whether it did. What `signal` ends tells nothing of that,
   * and neither does an agent that refuses one session or mode.
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
