import type { RecoverySummary } from '../api/runtime.ts';
import type { Session, Turn } from '../api/sessions.ts';
import type { Ledger } from '../children/ledger.ts';
import type { EventLog } from '../events/log.ts';
import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/log.ts';
import { endTurnInRows } from '../sessions/end-turn.ts';
import { closeStoredItems } from '../sessions/close-items.ts';
import type { Inbox } from '../sessions/inbox.ts';
import { failSessionInRows } from '../sessions/fail-session.ts';
import { endProcess, type ProcessEnd } from '../processes/process.ts';
import { nothingPrinted, type Printed } from '../processes/reading.ts';
import type { ExitNotices } from '../processes/notices.ts';
import type { ProcessStore } from '../processes/store.ts';
import type { SessionStore } from '../sessions/store.ts';
import type { Database } from '../store/database.ts';
import type { Reader, Writer } from '../store/transaction.ts';
import type { TeamStore } from '../teams/store.ts';
import type { WorktreeMender } from '../worktrees/mend.ts';
import { type Plan, planRecovery } from './plan.ts';

/** Numbers that are left out when clients may have seen some that a power loss took. */
const LEFT_OUT = 2 ** 20;

/** What a start did: the summary, and the turns that still have to be started. */
export interface Recovered {
  summary: RecoverySummary;
  startTurns: Turn[];
}

interface RecoverOptions {
  db: Database;
  log: EventLog;
  sessionStore: SessionStore;
  processes: ProcessStore;
  /** What a process had printed: how much, and its end. */
  readPrinted: (processId: string) => Promise<Printed>;
  notices: ExitNotices;
  worktrees: WorktreeMender;
  inbox: Inbox;
  teams: TeamStore;
  ledger: Ledger;
  clock: Clock;
  logger: Logger;
  durability: string;
  /** Whether the provider of a session could take it up again. */
  canResume: (session: Session) => boolean;
}

/**
 * Mends what the last run left behind, before the server listens: first what it left alive is killed, then
 * the records are put right, in one transaction with the events that tell of it.
 */
export async function recover(given: RecoverOptions): Promise<Recovered> {
  const { db, log, sessionStore: store, ledger, clock, logger } = given;
  const started_at = clock.now();
  const previous = await ledger.begin(given.durability);
  const orphans_killed = await ledger.sweep(logger);
  const printed = new Map<string, Printed>();
  for (const { process_id } of db.peek((rx) => given.processes.unfinished(rx)))
    printed.set(process_id, await given.readPrinted(process_id));
  const mended = await given.worktrees.mendFiles();
  return db.transact((tx) => {
    if (previous.stop === 'unclean' && !previous.sameBoot && previous.durability === 'normal') {
      tx.skipSeqs(LEFT_OUT);
    }
    log.append(tx, { kind: 'runtime.started', payload: { previous_stop: previous.stop } });
    const plan = planOf(tx, given);
    const { cancelled, failedSessions } = mendTurns(tx, plan, given);
    const processes_failed = failProcesses(tx, printed, given);
    for (const change of mended) change(tx);
    const { claims_released, worktrees_missing } = given.worktrees.reconcile(tx);
    closeStoredItems(tx, store.openAsides(tx), 'failed', { log, store, clock });
    const summary: RecoverySummary = {
      status: 'running',
      started_at,
      ended_at: null,
      previous_stop: previous.stop,
      sessions_failed: failedSessions,
      turn_pointers_cleared: plan.clearPointers.map(({ id }) => id),
      turns_failed: [...plan.failTurns, ...plan.orphanTurns].map(({ turn_id }) => turn_id),
      turns_reconciled: plan.startTurns.map(({ turn_id }) => turn_id),
      approvals_kept: plan.keepTurns.flatMap(({ turn_id }) =>
        store.pendingApprovals(tx, turn_id).map(({ id }) => id),
      ),
      approvals_cancelled: cancelled,
      processes_failed,
      orphans_killed,
      claims_released,
      worktrees_missing,
      deliveries_retried: given.teams.allWaiting(tx).map(({ id }) => id),
    };
    log.append(tx, { kind: 'runtime.recovered', payload: { recovery: summary } });
    return {
      summary,
      startTurns: plan.startTurns.map(({ turn_id }) => store.turns.get(tx, turn_id) as Turn),
    };
  });
}

function planOf(rx: Reader, { sessionStore: store, canResume }: RecoverOptions): Plan {
  return planRecovery({
    unfinishedTurns: store.unfinishedTurns(rx),
    busySessions: uniqueById([...store.sessionsWithActiveTurn(rx), ...store.busySessions(rx)]),
    turn: (id) => store.turns.get(rx, id),
    approvalsOf: (turnId) => store.approvalsOf(rx, turnId),
    canResume: (turn) => canResume(store.session(rx, turn.session_id)),
  });
}

/** Puts sessions and turns right as the plan says; answers what that cancelled and failed. */
function mendTurns(tx: Writer, plan: Plan, given: RecoverOptions): Repairs {
  const repairs = new Repairs(given);
  for (const session of uniqueById([...plan.clearPointers, ...plan.readySessions])) {
    const status = plan.readySessions.includes(session) ? 'ready' : session.status;
    given.sessionStore.updateSession(
      tx,
      { ...session, status, active_turn_id: null, updated_at: given.clock.now() },
      'session.updated',
    );
  }
  for (const turn of plan.failTurns) repairs.end(tx, turn);
  for (const turn of plan.orphanTurns) repairs.orphan(tx, turn);
  for (const turn of [...plan.keepTurns, ...plan.startTurns]) repairs.detach(tx, turn);
  return repairs;
}

/** Fails the processes that the last run left unfinished; answers their ids. */
function failProcesses(
  tx: Writer,
  printed: ReadonlyMap<string, Printed>,
  { processes, notices, clock }: RecoverOptions,
): string[] {
  return processes.unfinished(tx).map((process) => {
    const { output, tails } = printed.get(process.process_id) ?? nothingPrinted;
    const failure = {
      code: 'runtime_restarted',
      message: 'the server died while it ran, or before its turn came',
    };
    const end: ProcessEnd = { exit: null, cause: null, failure, output };
    const failed = endProcess(process, end, clock.now());
    processes.move(tx, failed, 'process.failed');
    notices.put(tx, failed, tails);
    return process.process_id;
  });
}

/** The repairs of turns. */
class Repairs {
  readonly cancelled: string[] = [];
  readonly failedSessions: RecoverySummary['sessions_failed'] = [];
  readonly #given: RecoverOptions;

  constructor(given: RecoverOptions) {
    this.#given = given;
  }

  /** Fails a turn that died with its agent; one that somebody had interrupted is interrupted. */
  end(
    tx: Writer,
    turn: Turn,
    code = 'runtime_restarted',
    message = 'the server died while an agent was at this turn',
  ): void {
    const { log, sessionStore: store, clock } = this.#given;
    const outcome = { status: 'failed' as const, error: { code, message } };
    const { ended, cancelled } = endTurnInRows(tx, turn, outcome, { store, log, clock });
    this.#given.inbox.turnEnded(tx, ended);
    this.cancelled.push(...cancelled.map(({ id }) => id));
  }

  /** The interface: a waiting state with no live owner fails, turn and session. */
  orphan(tx: Writer, turn: Turn): void {
    const { sessionStore: store, inbox, clock } = this.#given;
    const message = 'the turn waited for an approval that nobody can give any more';
    this.end(tx, turn, 'approval_orphaned', message);
    const failure = { code: 'approval_orphaned', message };
    failSessionInRows(tx, turn.session_id, failure, { store, inbox, clock });
    this.failedSessions.push({ session_id: turn.session_id, ...failure });
  }

  /** Keeps a turn without its agent: what the agent was saying is closed, and the next one takes it from there. */
  detach(tx: Writer, turn: Turn): void {
    const { log, sessionStore: store, clock } = this.#given;
    closeStoredItems(tx, store.openItems(tx, turn.turn_id), 'interrupted', { log, store, clock });
    store.turns.update(tx, { ...turn, provider_turn_ref: null });
  }
}

function uniqueById(sessions: readonly Session[]): Session[] {
  return [...new Map(sessions.map((session) => [session.id, session])).values()];
}
