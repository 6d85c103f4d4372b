/** Requests that the server has acknowledged, and requests without a response. */
export class Acknowledgements {
  /** Every acknowledged session. */
  readonly sessions = new Set<string>();
  /** Every acknowledged turn, and its session. */
  readonly turns = new Map<string, string>();
  /** Creations whose answer was cut off: each may have happened once. */
  unansweredCreations = 0;
  /** The same for turns, by session. */
  readonly unansweredTurns = new Map<string, number>();
  /** Acknowledged turns whose end was not yet checked. */
  readonly open = new Set<string>();

  #labels = 0;

  /** Something that no other prompt has: to an agent it is prose. */
  newLabel(): string {
    return `#${++this.#labels}`;
  }

  /** A turn is asked for; until the answer is there it may have been accepted or not. */
  askForTurn(sessionId: string): void {
    this.unansweredTurns.set(sessionId, (this.unansweredTurns.get(sessionId) ?? 0) + 1);
  }

  /** The answer is there: a yes with the turn, or a no. */
  answerTurn(sessionId: string, turnId: string | null): void {
    this.unansweredTurns.set(sessionId, (this.unansweredTurns.get(sessionId) ?? 0) - 1);
    if (turnId === null) return;
    this.turns.set(turnId, sessionId);
    this.open.add(turnId);
  }

  askForSession(): void {
    this.unansweredCreations++;
  }

  answerSession(id: string): void {
    this.unansweredCreations--;
    this.sessions.add(id);
  }
}
