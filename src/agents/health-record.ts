import { errorMessage } from '../core/lib/error-message.ts';
import { plain } from '../core/lib/plain.ts';
import { ProviderError } from './provider.ts';

/** The observations of a provider about its agents, for health and diagnostics. */
export class HealthRecord {
  version: string | null = null;
  /** Why the last start of an agent failed; null where it did not, or none was started yet. */
  startFailure: string | null = null;
  #unknownMessages = 0;
  #lastError: string | null = null;
  readonly countUnknown = () => void this.#unknownMessages++;
  readonly noteVersion = (version: string | null) => void (this.version = version);

  stats(command: string | null) {
    return {
      version: this.version,
      command,
      pid: null,
      unknown_messages: this.#unknownMessages,
      last_error: this.#lastError,
    };
  }

  note(error: unknown): void {
    this.#lastError = plain(errorMessage(error));
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
      this.startFailure = null;
      return agent;
    } catch (error) {
      if (!signal?.aborted && error instanceof ProviderError)
        this.startFailure = error.code === 'provider_unavailable' ? plain(error.message) : null;
      throw error;
    }
  }
}
