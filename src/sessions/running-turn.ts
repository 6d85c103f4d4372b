import type { Approval } from '../api/approvals.ts';
import type { Turn } from '../api/sessions.ts';
import type { TurnOutcome } from '../providers/provider.ts';
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
  /** Whether it is stored that an agent is about to see the turn. */
  readonly isBegun: boolean;
  /** Whether it was sent to an agent. */
  isPrompted: boolean;
  /** Approvals that were accepted while the turn had no agent. Each answers one equal request of its next agent. */
  grants: Approval[];
}

/** How a turn ends that the server cannot wait for. */
export const stopped: TurnOutcome = {
  status: 'interrupted',
  error: {
    code: 'runtime_stopping',
    message: 'the server was stopped before the turn had ended',
  },
};

/** Whether no agent has seen a turn, although it may be stored that one was about to. */
export function isUnseen({ started_at }: Turn, running: RunningTurn | undefined): boolean {
  return started_at === null || (running?.isBegun === true && !running.isPrompted);
}
