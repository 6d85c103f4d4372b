import type { RecoverySummary } from '../../../api/runtime.ts';
import type { Session, Turn } from '../../../api/sessions.ts';
import type { ServerParts } from '../../../core/events/server-parts.ts';
import type { Shim } from '../../../core/children/shim/shim.ts';
import type { Ledger } from '../../../core/children/ledger.ts';
import { endTurnInRows, failSessionInRows } from '../../conversations/sessions/turn-rows.ts';
import { closeStoredItems } from '../../conversations/sessions/items.ts';
import type { Inbox } from '../../conversations/inbox/inbox.ts';
import { type ProcessEnd, endProcess } from '../../work/processes/process.ts';
import { type Printed, nothingPrinted } from '../../work/processes/reading.ts';
import {
  type SurvivingProcess,
  survivingProcesses,
} from '../../work/processes/surviving-processes.ts';
import type { ExitNotices } from '../../work/processes/notices.ts';
import type { ProcessStore } from '../../work/processes/store.ts';
import type { AgentReadPositions } from '../../conversations/sessions/agent-read-positions.ts';
import {
  cancelUnawaited,
  claimSurvivingTurns,
  type SurvivingTurn,
  survivingTurns,
  unpromptedTurns,
} from '../../conversations/sessions/attach-turn.ts';
import type { SessionStore } from '../../conversations/sessions/store.ts';
import { SKIPPED_SEQS } from '../../../core/store/lost-store.ts';
import type { Reader, Writer } from '../../../core/store/transaction.ts';
import type { TeamStore } from '../../teams/store.ts';
import type { WorktreeRecovery } from '../../work/worktrees/worktree-recovery.ts';
import type { Approval } from '../../../api/approvals.ts';
import { hasEnded } from '../../conversations/sessions/turn.ts';

/** The result of startup recovery: its summary, and the turns that are to be started. */
export interface Recovered {
  summary: RecoverySummary;
  startTurns: Turn[];
  /** The turns whose agents are to be taken over. */
  survivingTurns: readonly SurvivingTurn[];
  /** The processes that are to be taken over. */
  survivingProcesses: readonly SurvivingProcess[];
}

interface RecoverOptions extends Pick<ServerParts, 'db' | 'log' | 'clock' | 'logger'> {
  sessionStore: SessionStore;
  processes: ProcessStore;
  readPrinted: (processId: string) => Promise<Printed>;
  notices: ExitNotices;
  worktrees: WorktreeRecovery;
  inbox: Inbox;
  teams: TeamStore;
  ledger: Ledger;
  /** The shim that this server continues with. Null if there is none. */
  shim: Pick<Shim, 'process' | 'held'> | null;
  /** Null if no agent may outlive a server. */
  readers: AgentReadPositions | null;
  durability: string;
  /** Whether the provider could resume a session. */
  canResume: (session: Session) => boolean;
}

/**
 * Repairs what the previous run left behind, before the server listens. First the processes that still run are killed,
 * then the records are repaired, in one transaction with the events of the repairs.
 */
export async function recover(options: RecoverOptions): Promise<Recovered> {
  const { db, log, sessionStore: store, ledger, shim, readers, clock, logger } = options;
  const started_at = clock.now();
  const held = shim?.held ?? [];
  const previous = await ledger.begin(options.durability);
  const orphans_killed = await ledger.sweep(logger, shim?.process ?? null, held);
  const unfinished = db.peek((rx) => options.processes.unfinished(rx));
  const attached = survivingProcesses(unfinished, held);
  const attachedIds = new Set(attached.map(({ process }) => process.process_id));
  const printed = new Map<string, Printed>();
  for (const { process_id } of unfinished)
    if (!attachedIds.has(process_id))
      printed.set(process_id, await options.readPrinted(process_id));
  const worktreeRepairs = await options.worktrees.recoverFiles();
  return db.transact((tx) => {
    if (previous.stop === 'unclean' && !previous.sameBoot && previous.durability === 'normal') {
      tx.skipSeqs(SKIPPED_SEQS);
    }
    log.append(tx, { kind: 'runtime.started', payload: { previous_stop: previous.stop } });
    const noteLost = ({ turn_id }: Turn, why: string) =>
      logger.warn({ turn_id, why }, 'cannot continue a turn, and ends its agent');
    const left = readers ? survivingTurns(tx, held, { store, readers }, noteLost) : [];
    const plan = planOf(tx, options, left);
    if (readers) claimSurvivingTurns(tx, left, { readers, begunAgain: plan.startTurns });
    const { cancelled, failedSessions } = repairTurns(tx, plan, left, options);
    const processes_failed = failProcesses(tx, printed, options);
    for (const repair of worktreeRepairs) repair(tx);
    const { claims_released, worktrees_missing } = options.worktrees.reconcile(tx);
    closeStoredItems(tx, store.openAsides(tx), 'failed', { log, store, clock });
    const summary: RecoverySummary = {
      status: 'running',
      started_at,
      ended_at: null,
      previous_stop: previous.stop,
      events_lost: db.lost && { ...db.lost },
      sessions_failed: failedSessions,
      turn_pointers_cleared: plan.clearPointers.map(({ id }) => id),
      turns_failed: [...plan.failTurns, ...plan.orphanTurns].map(({ turn_id }) => turn_id),
      turns_attached: plan.attachTurns.map(({ turn_id }) => turn_id),
      turns_reconciled: plan.startTurns.map(({ turn_id }) => turn_id),
      approvals_kept: plan.keepTurns.flatMap(({ turn_id }) =>
        store.pendingApprovals(tx, turn_id).map(({ id }) => id),
      ),
      approvals_cancelled: cancelled,
      processes_failed,
      processes_attached: [...attachedIds],
      orphans_killed,
      claims_released,
      worktrees_missing,
      deliveries_retried: options.teams.allWaiting(tx).map(({ id }) => id),
    };
    log.append(tx, { kind: 'runtime.recovered', payload: { recovery: summary } });
    return {
      summary,
      startTurns: plan.startTurns.map(({ turn_id }) => store.turns.get(tx, turn_id) as Turn),
      survivingTurns: left,
      survivingProcesses: attached,
    };
  });
}

function planOf(
  rx: Reader,
  { sessionStore: store, readers, canResume }: RecoverOptions,
  left: readonly SurvivingTurn[],
): Plan {
  const unprompted = readers ? unpromptedTurns(rx, readers) : new Set<string>();
  const leftIds = new Set(left.map(({ turn }) => turn.turn_id));
  return planRecovery({
    unfinishedTurns: store.unfinishedTurns(rx),
    busySessions: uniqueById([...store.sessionsWithActiveTurn(rx), ...store.busySessions(rx)]),
    turn: (id) => store.turns.get(rx, id),
    isLeft: ({ turn_id }) => leftIds.has(turn_id),
    isUnprompted: ({ turn_id }) => unprompted.has(turn_id),
    approvalsOf: (turnId) => store.approvalsOf(rx, turnId),
    canResume: (turn) => canResume(store.session(rx, turn.session_id)),
  });
}

/** Repairs sessions and turns as planned. Returns the approvals that this cancelled and the sessions it failed. */
function repairTurns(
  tx: Writer,
  plan: Plan,
  left: readonly SurvivingTurn[],
  { log, sessionStore: store, inbox, clock }: RecoverOptions,
): { cancelled: string[]; failedSessions: RecoverySummary['sessions_failed'] } {
  const cancelled = cancelUnawaited(tx, left, { store, clock });
  const failedSessions: RecoverySummary['sessions_failed'] = [];
  for (const session of uniqueById([...plan.clearPointers, ...plan.readySessions])) {
    const status = plan.readySessions.includes(session) ? 'ready' : session.status;
    const now = { ...session, status, active_turn_id: null, updated_at: clock.now() };
    store.updateSession(tx, now, 'session.updated');
  }
  /** Fails a turn. A turn with a stored interrupt ends as interrupted instead. */
  const fail = (turn: Turn, error: { code: string; message: string }) => {
    const outcome = { status: 'failed' as const, error };
    const closed = endTurnInRows(tx, turn, outcome, { store, log, clock });
    inbox.turnEnded(tx, closed.ended);
    cancelled.push(...closed.cancelled.map(({ id }) => id));
  };
  for (const turn of plan.failTurns) fail(turn, DIED);
  for (const turn of plan.orphanTurns) {
    fail(turn, ORPHANED);
    failSessionInRows(tx, turn.session_id, ORPHANED, { store, inbox, clock });
    failedSessions.push({ session_id: turn.session_id, ...ORPHANED });
  }
  // The agent of these turns is gone; their open items are closed, so that the next agent can continue them.
  for (const turn of [...plan.keepTurns, ...plan.startTurns]) {
    closeStoredItems(tx, store.openItems(tx, turn.turn_id), 'interrupted', { log, store, clock });
    store.turns.update(tx, { ...turn, provider_turn_ref: null });
  }
  return { cancelled, failedSessions };
}

/** The failure of a turn whose agent died with the server. */
const DIED = {
  code: 'runtime_restarted',
  message: 'the server died while an agent was running this turn',
};
/** The failure of a turn that waited for an approval and that nothing can continue, and of its session (interface 12.3). */
const ORPHANED = {
  code: 'approval_orphaned',
  message:
    'the turn was waiting for an approval when the server stopped, and could not be continued after the restart',
};

/** Fails the processes that the previous run left unfinished and that have ended. `printed`: their output. Returns their ids. */
function failProcesses(
  tx: Writer,
  printed: ReadonlyMap<string, Printed>,
  { processes, notices, clock }: RecoverOptions,
): string[] {
  const ended = processes.unfinished(tx).filter(({ process_id: id }) => printed.has(id));
  return ended.map((process) => {
    const { output, tails } = printed.get(process.process_id) ?? nothingPrinted;
    const failure = {
      code: 'runtime_restarted',
      message: 'the server died while the process was queued or running',
    };
    const end: ProcessEnd = { exit: null, cause: null, failure, output };
    const failed = endProcess(process, end, clock.now());
    processes.move(tx, failed, 'process.failed');
    notices.put(tx, failed, tails);
    return process.process_id;
  });
}

function uniqueById(sessions: readonly Session[]): Session[] {
  return [...new Map(sessions.map((session) => [session.id, session])).values()];
}

/** The unfinished work that startup recovery finds in the store. */
export interface UnfinishedWork {
  unfinishedTurns: readonly Turn[];
  /** Sessions with an `active_turn_id`, or with the status running or waiting_for_approval. */
  busySessions: readonly Session[];
  turn: (id: string) => Turn | undefined;
  approvalsOf: (turnId: string) => readonly Approval[];
  /** Whether the agent of a turn lives, and can be taken over. */
  isLeft: (turn: Turn) => boolean;
  /** Whether the agent of a running turn did not get the prompt. */
  isUnprompted: (turn: Turn) => boolean;
  /** Whether the provider could resume the session of a turn. */
  canResume: (turn: Turn) => boolean;
}

interface Plan {
  /** Turns whose agents are to be taken over. */
  attachTurns: Turn[];
  /** Turns that no agent has seen, or of whose approvals none is pending and one is accepted. */
  startTurns: Turn[];
  /** Turns that an agent which died with the server may have seen, or whose interrupt is stored. */
  failTurns: Turn[];
  /** Turns to keep with session and approvals, because an approval is pending. */
  keepTurns: Turn[];
  /** Turns to fail with their sessions, because they waited for an approval and nothing can continue them. */
  orphanTurns: Turn[];
  /** Sessions whose `active_turn_id` names a turn that does not exist or has ended. */
  clearPointers: Session[];
  /** Sessions to make ready, because they have a busy status but no unfinished turn. */
  readySessions: Session[];
}

export function planRecovery(work: UnfinishedWork): Plan {
  const fates = Map.groupBy(work.unfinishedTurns, (turn) => fateOf(turn, work));
  const stale = work.busySessions.filter(({ active_turn_id: id }) => {
    const active = id === null ? undefined : work.turn(id);
    return !active || hasEnded(active);
  });
  return {
    attachTurns: fates.get('attach') ?? [],
    startTurns: fates.get('start') ?? [],
    failTurns: fates.get('fail') ?? [],
    keepTurns: fates.get('keep') ?? [],
    orphanTurns: fates.get('orphan') ?? [],
    clearPointers: stale.filter(({ active_turn_id: id }) => id !== null),
    readySessions: stale.filter(
      ({ status }) => status === 'running' || status === 'waiting_for_approval',
    ),
  };
}

function fateOf(
  turn: Turn,
  { approvalsOf, canResume, isLeft, isUnprompted }: UnfinishedWork,
): 'attach' | 'start' | 'fail' | 'keep' | 'orphan' {
  if (isLeft(turn)) return 'attach';
  if (turn.interrupt_requested_at !== null) return 'fail';
  if (turn.status === 'accepted') return 'start';
  if (turn.status === 'running') return isUnprompted(turn) ? 'start' : 'fail';
  if (!canResume(turn)) return 'orphan';
  const approvals = approvalsOf(turn.turn_id);
  // An approval that has timed out meanwhile stays pending here, and expires once the server runs.
  if (approvals.some(({ status }) => status === 'pending')) return 'keep';
  return approvals.some(({ status }) => status === 'accepted') ? 'start' : 'orphan';
}
