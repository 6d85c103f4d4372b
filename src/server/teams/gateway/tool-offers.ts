import type { ServerParts } from '../../../core/events/server-parts.ts';
import type { Session } from '../../../api/sessions.ts';
import type { SessionStore } from '../../conversations/sessions/store.ts';

/** An agent that has completed a turn has this long to ask for the tools: its sidecar may start late. */
export const TOOLS_WITHIN_MS = 3000;

interface Offer {
  state: 'offered' | 'waiting' | 'taken' | 'not_taken';
  limit: Disposable | null;
}

interface ToolOffersDeps extends Pick<ServerParts, 'db' | 'log' | 'clock'> {
  sessionStore: SessionStore;
  withinMs: number;
}

/** Records whether agents have asked for the tools that they were offered, and appends a notice if one did not. */
export class ToolOffers {
  readonly #deps: ToolOffersDeps;
  readonly #offers = new Map<string, Offer>();

  constructor(deps: ToolOffersDeps) {
    this.#deps = deps;
  }

  /** An agent starts that is given the tools. */
  offered(sessionId: string): void {
    if (!this.#offers.has(sessionId))
      this.#offers.set(sessionId, { state: 'offered', limit: null });
  }

  /** Another process of the agent is given the tools: that an earlier one took them says nothing of it. */
  renewed(sessionId: string): void {
    if (this.#offers.get(sessionId)?.state === 'taken')
      this.#offers.set(sessionId, { state: 'offered', limit: null });
  }

  /** The agent has asked for the list of the tools, or has called one. */
  taken(sessionId: string): void {
    this.#offers.get(sessionId)?.limit?.[Symbol.dispose]();
    this.#offers.set(sessionId, { state: 'taken', limit: null });
  }

  /** The session is closed, or its agent says that it uses no tools. */
  forget(sessionId: string): void {
    this.#offers.get(sessionId)?.limit?.[Symbol.dispose]();
    this.#offers.delete(sessionId);
  }

  /** Whether the agent of a session has taken the tools; null where that is not known yet. */
  isTaken(sessionId: string): boolean | null {
    const state = this.#offers.get(sessionId)?.state;
    if (state === 'taken') return true;
    return state === 'not_taken' ? false : null;
  }

  /** A turn has ended. After the first completed turn, one notice reports an agent without the tools. */
  turnEnded({ id }: Session, turnId: string): void {
    const { db, clock, sessionStore, withinMs } = this.#deps;
    const offer = this.#offers.get(id);
    if (offer?.state !== 'offered' || !Number.isFinite(withinMs)) return;
    if (db.peek((rx) => sessionStore.turns.get(rx, turnId)?.status) !== 'completed') return;
    offer.state = 'waiting';
    offer.limit = clock.after(withinMs, () => void this.#reportMissingTools(id, offer));
  }

  async #reportMissingTools(session_id: string, offer: Offer): Promise<void> {
    const { db, log } = this.#deps;
    offer.state = 'not_taken';
    const message =
      'the agent has not loaded the tools of cadre, so it cannot run supervised processes or send ' +
      'team messages: check whether it starts the MCP servers of its client';
    const payload = { code: 'tools_not_taken', message };
    // A stopping server does not store the notice; the next one appends it again.
    await db
      .transact((tx) => log.append(tx, { kind: 'session.notice', session_id, payload }))
      .catch(() => undefined);
  }
}
