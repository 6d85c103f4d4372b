import type { Approval } from '../../../api/approvals.ts';
import type { Turn } from '../../../api/sessions.ts';
import type { Agent, TurnOutcome } from '../../../agents/provider.ts';
import type { LiveAgent } from './agent-pool.ts';
import type { TurnOutput } from './output.ts';
import type { ServerParts } from '../../../core/events/server-parts.ts';
import type { Writer } from '../../../core/store/transaction.ts';
import type { SessionStore } from './store.ts';

/** A turn of this server that waits for an agent or runs on one. */
export interface RunningTurn {
  readonly done: Promise<void>;
  /** Aborts all work on the turn, when the turn has ended or the server stops. */
  readonly over: AbortController;
  /** Ends the wait for the agent with an outcome. */
  readonly cutShort: (outcome: TurnOutcome) => void;
  output: TurnOutput | undefined;
  live: LiveAgent | undefined;
  /** Whether the turn is left for the next start of the server, because it waits for an agent or for an approval. */
  left: boolean;
  /** Whether the turn was interrupted. It is then not sent to an agent that has not seen it yet. */
  interrupting: boolean;
  /** The agent of which it is stored that it is about to see the turn. */
  begunFor: Agent | undefined;
  /** Whether an agent had seen the turn before, which then waited for approvals without one. */
  readonly wasSeen: boolean;
  isPrompted: boolean;
  /** Approvals that were accepted while the turn had no agent. Each answers one equal request of its next agent. */
  grants: Approval[];
}

/** Makes the record of a running turn. `finish` must be called when nothing of the turn runs any more. */
export function runTurn(
  { started_at }: Turn,
  begunFor: Agent | undefined,
): { running: RunningTurn; cut: Promise<TurnOutcome>; finish: () => void } {
  const cut = Promise.withResolvers<TurnOutcome>();
  const done = Promise.withResolvers<void>();
  const running: RunningTurn = {
    done: done.promise,
    over: new AbortController(),
    cutShort: cut.resolve,
    output: undefined,
    live: undefined,
    left: false,
    interrupting: false,
    begunFor,
    wasSeen: started_at !== null,
    isPrompted: false,
    grants: [],
  };
  return { running, cut: cut.promise, finish: done.resolve };
}

/** How a turn ends that the server cannot wait for. */
export const stopped: TurnOutcome = {
  status: 'interrupted',
  error: { code: 'runtime_stopping', message: 'the server was stopped before the turn ended' },
};

/** Whether no agent has seen a turn, although it may be stored that one was about to. */
export function isUnseen({ started_at }: Turn, running: RunningTurn | undefined): boolean {
  if (started_at === null) return true;
  return running?.begunFor !== undefined && !running.wasSeen && !running.isPrompted;
}

export interface TimeLimitDeps extends Pick<ServerParts, 'db' | 'clock' | 'logger'> {
  store: SessionStore;
  /** The time limit of a turn, in ms, after which it is interrupted; null: there is no limit. */
  turnTimeoutMs: () => number | null;
}

/** Starts the time limit of the active turn, if there is one. At its end `interrupt` is called; the session stays open. */
export function turnTimeLimit(
  { db, store, clock, logger, turnTimeoutMs }: TimeLimitDeps,
  sessionId: string,
  interrupt: (tx: Writer, turn: Turn, error: NonNullable<Turn['error']>) => void,
): Disposable {
  const limitMs = turnTimeoutMs();
  if (limitMs === null) return { [Symbol.dispose]: () => undefined };
  const error = {
    code: 'turn_timeout',
    message: `the turn exceeded sessions.turn_timeout_ms (${limitMs} ms) and was interrupted`,
  };
  return clock.after(limitMs, () => {
    db.transact((tx) => {
      const turn = store.activeTurn(tx, sessionId);
      if (turn?.interrupt_requested_at === null) interrupt(tx, turn, error);
    }).catch((failure: unknown) =>
      logger.error({ err: failure }, 'cannot interrupt a turn that exceeded its time limit'),
    );
  });
}
