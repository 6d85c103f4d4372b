import type { RecoverySummary } from '../api/runtime.ts';
import type { Session, Turn } from '../api/sessions.ts';
import type { Ledger } from '../children/ledger.ts';
import type { EventLog } from '../events/log.ts';
import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/log.ts';
import { closeStoredItems } from '../sessions/output.ts';
import { endTurn } from '../sessions/session.ts';
import type { SessionStore } from '../sessions/store.ts';
import { finishTurn } from '../sessions/turn.ts';
import type { Database } from '../store/database.ts';
import { planRecovery } from './plan.ts';

/** Numbers that are left out when clients may have seen some that a power loss took. */
const LEFT_OUT = 2 ** 20;

/** What a start did: the summary, and the turns that still have to be started. */
export interface Recovered {
  summary: RecoverySummary;
  startTurns: Turn[];
}

/**
 * Mends what the last run left behind, before the server listens: first what it left alive is killed, then
 * the records are put right, in one transaction with the events that tell of it.
 */
export async function recover(given: {
  db: Database;
  log: EventLog;
  sessions: SessionStore;
  ledger: Ledger;
  clock: Clock;
  logger: Logger;
  durability: string;
}): Promise<Recovered> {
  const { db, log, sessions: store, ledger, clock, logger } = given;
  const started_at = clock.now();
  const previous = await ledger.begin(given.durability);
  const orphans_killed = await ledger.sweep(logger);
  return db.transact(() => {
    if (previous.stop === 'unclean' && !previous.sameBoot && previous.durability === 'normal') {
      db.skipSeqs(LEFT_OUT);
    }
    log.append({ kind: 'runtime.started', payload: { previous_stop: previous.stop } });
    const plan = planRecovery({
      unfinishedTurns: store.unfinishedTurns(),
      busySessions: uniqueById([...store.sessionsWithActiveTurn(), ...store.busySessions()]),
      turn: (id) => store.turns.get(id),
    });
    for (const session of uniqueById([...plan.clearPointers, ...plan.readySessions])) {
      const status = plan.readySessions.includes(session) ? 'ready' : session.status;
      store.updateSession(
        { ...session, status, active_turn_id: null, updated_at: clock.now() },
        'session.updated',
      );
    }
    for (const turn of plan.failTurns) failTurn(turn);
    closeStoredItems(store.openAsides(), 'failed', { log, store, clock });
    const summary: RecoverySummary = {
      status: 'done',
      started_at,
      ended_at: clock.now(),
      previous_stop: previous.stop,
      sessions_failed: [],
      turn_pointers_cleared: plan.clearPointers.map(({ id }) => id),
      turns_failed: plan.failTurns.map(({ turn_id }) => turn_id),
      turns_reconciled: plan.startTurns.map(({ turn_id }) => turn_id),
      approvals_kept: [],
      approvals_cancelled: [],
      processes_failed: [],
      orphans_killed,
      claims_released: [],
      worktrees_missing: [],
      deliveries_retried: [],
    };
    log.append({ kind: 'runtime.recovered', payload: { recovery: summary } });
    return { summary, startTurns: plan.startTurns };
  });

  function failTurn(turn: Turn): void {
    closeStoredItems(store.openItems(turn.turn_id), 'failed', { log, store, clock });
    const error = {
      code: 'runtime_restarted',
      message: 'the server died while an agent was at this turn',
    };
    const left = { text: store.lastMessage(turn.turn_id), usage: turn.usage };
    const ended = finishTurn(turn, { status: 'failed', error }, left, clock.now());
    store.moveTurn(
      endTurn(store.session(turn.session_id), ended, clock.now()),
      ended,
      'turn.failed',
    );
  }
}

function uniqueById(sessions: readonly Session[]): Session[] {
  return [...new Map(sessions.map((session) => [session.id, session])).values()];
}
