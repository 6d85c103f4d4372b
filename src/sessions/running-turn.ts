import type { Approval } from '../api/approvals.ts';
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
  /** Approvals that were accepted while the turn had no agent. Each answers one equal request of its next agent. */
  grants: Approval[];
}
