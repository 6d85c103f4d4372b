import { isDeepStrictEqual } from 'node:util';
import type { Session, Turn } from '../../../api/sessions.ts';
import type { Agent } from '../../../agents/provider.ts';
import type { ServerParts } from '../../../core/events/server-parts.ts';
import type { Writer } from '../../../core/store/transaction.ts';
import { releaseHeld } from './end-turn.ts';
import type { Inbox } from '../inbox/inbox.ts';
import type { SessionStore } from './store.ts';
import { startTurn } from './turn.ts';

interface Rows extends Pick<ServerParts, 'clock' | 'ids'> {
  store: SessionStore;
  inbox: Inbox;
}

type Server = Pick<Agent, 'ref' | 'defaults' | 'asks'>;

/** Stores that an agent is about to see a turn that has not ended. After a crash the turn counts as seen. */
export function beginTurnInRows(tx: Writer, turn: Turn, agent: Server, rows: Rows): void {
  const { store, inbox, clock, ids } = rows;
  releaseHeld(tx, turn.turn_id, rows);
  const started_at = clock.now();
  const session: Session = {
    ...servedBy(store.session(tx, turn.session_id), agent),
    last_activity_at: started_at,
    status: 'running',
  };
  const started = { ...startTurn(turn, started_at), provider_turn_ref: ids.next('run') };
  store.moveTurn(tx, session, started, 'turn.started');
  inbox.turnStarted(tx, started);
}

/** Stores that another agent is about to see a turn that has begun. */
export function changeAgentInRows(
  tx: Writer,
  { session_id }: Turn,
  agent: Server,
  { store }: Pick<Rows, 'store'>,
): void {
  const session = store.session(tx, session_id);
  const served = servedBy(session, agent);
  if (!isDeepStrictEqual(served, session)) store.updateSession(tx, served, 'session.updated');
}

function servedBy(session: Session, { ref, defaults, asks }: Server): Session {
  return {
    ...session,
    provider_session_ref: ref,
    agent_asks: asks ?? null,
    provider_defaults: {
      permission_mode: defaults.permissionMode,
      agent_mode: defaults.agentMode,
      model: defaults.model,
      thinking_effort: defaults.thinkingEffort,
    },
  };
}
