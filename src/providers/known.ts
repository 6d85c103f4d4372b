/** What a provider has noticed of its agents, for diagnostics. */
export class Known {
  version: string | null = null;
  unknownMessages = 0;
  #lastError: string | null = null;

  stats(command: string | null) {
    return {
      version: this.version,
      command,
      pid: null,
      unknown_messages: this.unknownMessages,
      last_error: this.#lastError,
    };
  }

  /** Does work, and remembers why it failed if it does. */
  async noted<T>(work: Promise<T>): Promise<T> {
    try {
      return await work;
    } catch (error) {
      this.#lastError = error instanceof Error ? error.message : String(error);
      throw error;
    }
  }
}
