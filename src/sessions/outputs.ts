import type { Session } from '../api/sessions.ts';
import type { EventLog } from '../events/log.ts';
import type { Clock } from '../lib/clock.ts';
import type { Ids } from '../lib/ids.ts';
import type { Database } from '../store/database.ts';
import type { Writer } from '../store/transaction.ts';
import type { LiveAgent } from './agent-pool.ts';
import type { Inbox } from './inbox.ts';
import { TurnOutput } from './output.ts';
import type { SessionStore } from './store.ts';

interface Dependencies {
  db: Database;
  log: EventLog;
  store: SessionStore;
  inbox: Inbox;
  clock: Clock;
  ids: Ids;
}

/**
 * Opens the outputs of live agents: one for each turn, and one for the updates that an agent sends outside any turn.
 */
export class AgentOutputs {
  readonly #given: Dependencies;

  constructor(given: Dependencies) {
    this.#given = given;
  }

  /** Opens the output of a turn, or, with null, one outside any turn. `onError` is called when a write fails. */
  open(session: Session, turnId: string | null, onError: (error: unknown) => void): TurnOutput {
    const { db, store, inbox } = this.#given;
    const usage = db.peek((rx) => store.sessions.get(rx, session.id)?.usage);
    return new TurnOutput({
      ...this.#given,
      scope: { session_id: session.id, turn_id: turnId },
      costBefore: usage?.cost_usd ?? null,
      onError,
      onToolEnded: (tx: Writer) => inbox.atBoundary(tx, session.id),
    });
  }

  /** Returns the output that stores the current updates of an agent. */
  of(live: LiveAgent): TurnOutput {
    if (live.output) return live.output;
    live.aside ??= this.open(live.session, null, () => undefined);
    return live.aside;
  }

  /** Closes the output outside any turn. Must be called before the agent's next turn, and when the agent has exited. */
  async closeAside(live: LiveAgent): Promise<void> {
    const { aside } = live;
    live.aside = undefined;
    if (!aside || aside.broken) return;
    await this.#given.db.transact((tx) => aside.close(tx, 'completed')).catch(() => undefined);
  }
}
