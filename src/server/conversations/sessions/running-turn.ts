import type { Approval } from '../../../api/approvals.ts';
import type { Turn } from '../../../api/sessions.ts';
import type { Agent, TurnOutcome } from '../../../agents/provider.ts';
import type { LiveAgent } from './agent-pool.ts';
import type { TurnOutput } from './output.ts';

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

/**
 * Makes the record of a turn that begins to run. `cut` resolves when the wait for its agent is cut short, and `finish`
 * is to be called when nothing of the turn runs any more.
 */
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
  error: {
    code: 'runtime_stopping',
    message: 'the server was stopped before the turn ended',
  },
};

/** Whether no agent has seen a turn, although it may be stored that one was about to. */
export function isUnseen({ started_at }: Turn, running: RunningTurn | undefined): boolean {
  if (started_at === null) return true;
  return running?.begunFor !== undefined && !running.wasSeen && !running.isPrompted;
}
