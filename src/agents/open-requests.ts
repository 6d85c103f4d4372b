/** The requests of an agent that wait for an answer, by their ids. The agent may withdraw each of them. */
export class OpenRequests<Id> {
  readonly #withdrawals = new Map<Id, AbortController>();

  /** Sends what `decide` gives, unless the request is withdrawn before that: then nobody waits for an answer. */
  async answer<T>(
    id: Id,
    decide: (withdrawn: AbortSignal) => Promise<T>,
    send: (answer: T) => void,
  ): Promise<void> {
    const withdrawal = new AbortController();
    this.#withdrawals.set(id, withdrawal);
    try {
      const answer = await decide(withdrawal.signal);
      if (!withdrawal.signal.aborted) send(answer);
    } finally {
      this.#withdrawals.delete(id);
    }
  }

  withdraw(id: Id): void {
    this.#withdrawals.get(id)?.abort();
  }

  /** To be called when the agent is gone. */
  withdrawAll(): void {
    for (const withdrawal of this.#withdrawals.values()) withdrawal.abort();
  }
}
