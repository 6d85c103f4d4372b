import type { Approval } from '../../../api/approvals.ts';
import type { Session, Turn } from '../../../api/sessions.ts';
import type { AttachedTurn } from '../../../agents/attached-turn.ts';
import type { Child, Supervisor } from '../../../core/children/supervisor.ts';
import type { EventLog } from '../../../core/events/log.ts';
import type { ServerParts } from '../../../core/events/server-parts.ts';
import type { Reader, Writer } from '../../../core/store/transaction.ts';
import type { ApprovalBroker } from '../approvals/approval-broker.ts';
import type {
  AgentReadPositions,
  StoredReadPosition,
  TurnReadPosition,
} from './agent-read-positions.ts';
import { settingsOf } from './settings.ts';
import type { SessionStore } from './store.ts';
import { cancelApprovals } from './turn-rows.ts';
import { readStoredOutput, type StoredOutput, storedTools } from './stored-output.ts';

/** After so many servers that took over an agent and stored nothing of it, its turn fails: its output may have killed them. */
const MAX_ATTEMPTS = 3;

/** A server that lives for so many ms has handled the output that an earlier one had not. */
const SURVIVE_MS = 2000;

/** A running turn whose agent an earlier server has left alive. */
export interface SurvivingTurn {
  session: Session;
  turn: Turn;
  reader: StoredReadPosition;
  /** The offset up to which the agent had written when this server found it. */
  written: number;
}

/** A process that the shim has kept. */
interface HeldAgent {
  pid: number;
  stdout: { newest: number };
}

interface Rows {
  store: SessionStore;
  readers: AgentReadPositions;
}

/**
 * Returns the unfinished turns whose agents can be taken over. `held`: the processes that still have their pipes. `onLost` is
 * called for each other turn with such a process.
 */
export function survivingTurns(
  rx: Reader,
  held: readonly HeldAgent[],
  { store, readers }: Rows,
  onLost: (turn: Turn, why: string) => void,
): SurvivingTurn[] {
  if (held.length === 0) return [];
  const unfinished = new Map(store.unfinishedTurns(rx).map((turn) => [turn.turn_id, turn]));
  return readers.all(rx).flatMap(({ sessionId, reader }) => {
    if (reader.position === null) return [];
    const turn = unfinished.get(reader.turn_id);
    const child = held.find(({ pid }) => pid === reader.pid);
    if (!turn || !child) return [];
    const why = whyLost(reader);
    if (why === null)
      return [
        { session: store.session(rx, sessionId), turn, reader, written: child.stdout.newest },
      ];
    onLost(turn, why);
    return [];
  });
}

/** Returns why a turn cannot continue although its agent lives; null if it can. */
function whyLost({ position, attempts = 0 }: StoredReadPosition): string | null {
  if (position.state === null) return 'the agent did not only work on the prompt';
  return attempts < MAX_ATTEMPTS
    ? null
    : `${attempts} servers have died of the output of the agent`;
}

/** Returns the ids of the turns that have begun, and whose agents did not get the prompt. */
export function unpromptedTurns(rx: Reader, readers: AgentReadPositions): ReadonlySet<string> {
  const unprompted = readers.all(rx).filter(({ reader }) => reader.position === null);
  return new Set(unprompted.map(({ reader }) => reader.turn_id));
}

/** Returns the time, in ms, after which this server counts as not killed by the output of an agent. */
export function surviveMs({ reader, written }: SurvivingTurn): number {
  return written > reader.position.end ? SURVIVE_MS : 0;
}

/** A turn with the process of its agent; null if that cannot be taken over. */
export interface TakenTurn extends SurvivingTurn {
  child: Child | null;
  /** The offset at which the output of the process begins. */
  from: number;
}

/** Takes over the processes of agents. One process may serve several sessions. */
export function takeProcesses(
  turns: readonly SurvivingTurn[],
  supervisor: Pick<Supervisor, 'attach'>,
): TakenTurn[] {
  const byProcess = Map.groupBy(turns, ({ reader }) => reader.pid);
  return [...byProcess].flatMap(([pid, all]) => {
    const from = Math.min(...all.map(({ reader }) => reader.position.at));
    const child = supervisor.attach(pid, from);
    return all.map((turn) => ({ ...turn, child, from }));
  });
}

/**
 * Stores that this server takes over agents, and deletes the rows of other turns. The rows of turns that begin again stay:
 * this server may die before that.
 */
export function claimSurvivingTurns(
  tx: Writer,
  turns: readonly SurvivingTurn[],
  { readers, begunAgain }: { readers: AgentReadPositions; begunAgain: readonly Turn[] },
): void {
  const claimed = new Map(turns.map(({ session, reader }) => [session.id, reader]));
  const kept = new Set(begunAgain.map(({ turn_id }) => turn_id));
  for (const { sessionId, reader: stored } of readers.all(tx)) {
    const reader = claimed.get(sessionId);
    if (reader) readers.save(tx, sessionId, { ...reader, attempts: (reader.attempts ?? 0) + 1 });
    else if (!kept.has(stored.turn_id)) readers.delete(tx, sessionId);
  }
}

/**
 * Cancels the approvals that nobody waits for, and returns their ids: the tool call or the sandbox connection has ended
 * with the earlier server. Requests of an agent and approvals of budgets are still waited for.
 */
export function cancelUnawaited(
  tx: Writer,
  turns: readonly SurvivingTurn[],
  rows: Pick<ServerParts, 'clock'> & { store: SessionStore },
): string[] {
  return turns.flatMap(({ turn, reader }) => {
    const asked = new Set(reader.asked.map(([id]) => id));
    const isUnheard = ({ id, kind }: Approval) => kind !== 'budget' && !asked.has(id);
    const cancelled = cancelApprovals(tx, turn, 'the server was restarted', rows, isUnheard);
    return cancelled.map(({ id }) => id);
  });
}

/** Reads the output of a turn that an earlier server has stored. */
export function outputOf(
  { turn, reader }: SurvivingTurn,
  { db, store, log }: Pick<ServerParts, 'db'> & { store: SessionStore; log: EventLog },
): StoredOutput {
  return db.peek((rx) => readStoredOutput(rx, turn, reader.output, { store, log }));
}

interface Dependencies extends Pick<ServerParts, 'db'>, Rows {
  broker: ApprovalBroker;
}

/** An interrupt cancels the requests that are pending, but does not withdraw them: their agents get answers. */
function isWithdrawn({ status, resolved_at }: Approval, { interrupt_requested_at }: Turn): boolean {
  return status === 'cancelled' && (resolved_at ?? 0) < (interrupt_requested_at ?? Infinity);
}

/** Returns a running turn for the agent that an earlier server has started. `row`: the row that this server writes. */
export function attachedTurn(
  { session, turn, reader }: SurvivingTurn,
  { output, row }: { output: StoredOutput; row: TurnReadPosition | null },
  { db, store, readers, broker }: Dependencies,
): AttachedTurn {
  const { approvals, messages } = db.peek((rx) => ({
    approvals: reader.asked.flatMap(([id, key]) => {
      const approval = store.approvals.get(rx, id);
      return approval ? [{ key, approval }] : [];
    }),
    messages: readers.queued(rx, session.id),
  }));
  return {
    settings: settingsOf(session, turn),
    isInterrupted: turn.interrupt_requested_at !== null,
    tools: storedTools(output),
    messages: messages.map(({ n, line }) => ({ n, line, onTaken: () => row?.noteTaken(n) })),
    requests: approvals.map(({ key, approval }) => ({
      key,
      kind: approval.kind,
      title: approval.title,
      request: approval.request,
      isWithdrawn: isWithdrawn(approval, turn),
      answer: (withdrawn) => broker.askAgain(approval, withdrawn),
    })),
  };
}
