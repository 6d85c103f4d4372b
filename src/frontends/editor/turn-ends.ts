import type { TurnInEvents } from '../../api/event-kinds/sessions.ts';
import type { AppError } from '../../api/errors.ts';

/** How the turns of a session ended: for those who wait for an end, before or after it came. */
export class TurnEnds {
  readonly #ends = new Map<string, PromiseWithResolvers<TurnInEvents>>();

  /** Resolves with a turn once it has ended. Rejects once nobody can tell. */
  of(turnId: string): Promise<TurnInEvents> {
    return this.#end(turnId).promise;
  }

  ended(turn: TurnInEvents): void {
    this.#end(turn.turn_id).resolve(turn);
  }

  /** Rejects all waits. The turns may still end, and later waits resolve. */
  fail(error: AppError): void {
    for (const end of this.#ends.values()) end.reject(error);
    this.#ends.clear();
  }

  #end(turnId: string): PromiseWithResolvers<TurnInEvents> {
    const known = this.#ends.get(turnId);
    if (known) return known;
    const end = Promise.withResolvers<TurnInEvents>();
    // Most ends are waited for by nobody.
    end.promise.catch(() => undefined);
    this.#ends.set(turnId, end);
    return end;
  }
}
