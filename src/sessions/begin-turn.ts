import type { Session, Turn } from '../api/sessions.ts';
import type { Clock } from '../lib/clock.ts';
import type { Ids } from '../lib/ids.ts';
import type { Agent } from '../providers/provider.ts';
import type { Writer } from '../store/transaction.ts';
import { releaseHeld } from './end-turn.ts';
import type { Inbox } from './inbox.ts';
import type { SessionStore } from './store.ts';
import { startTurn } from './turn.ts';

interface Rows {
  store: SessionStore;
  inbox: Inbox;
  clock: Clock;
  ids: Ids;
}

/** Stores that an agent is about to see a turn that has not ended. After a crash the turn counts as seen. */
export function beginTurnInRows(
  tx: Writer,
  turn: Turn,
  { ref, defaults, asks }: Pick<Agent, 'ref' | 'defaults' | 'asks'>,
  rows: Rows,
): void {
  const { store, inbox, clock, ids } = rows;
  releaseHeld(tx, turn.turn_id, rows);
  const started_at = clock.now();
  const session: Session = {
    ...store.session(tx, turn.session_id),
    last_activity_at: started_at,
    provider_session_ref: ref,
    agent_asks: asks ?? null,
    provider_defaults: {
      permission_mode: defaults.permissionMode,
      agent_mode: defaults.agentMode,
      model: defaults.model,
      thinking_effort: defaults.thinkingEffort,
    },
    status: 'running',
  };
  const started = { ...startTurn(turn, started_at), provider_turn_ref: ids.next('run') };
  store.moveTurn(tx, session, started, 'turn.started');
  inbox.turnStarted(tx, started);
}
