import type { AgentAnswer, AgentRequest, TurnSettings } from './provider.ts';

/** A running turn as it is stored, for an agent that another server has started. */
export interface AttachedTurn {
  settings: TurnSettings;
  /** Whether an interrupt of the turn is stored. The agent is asked again to end the turn. */
  isInterrupted: boolean;
  tools: readonly StoredTool[];
  /** The stored requests of the agent that have no answer yet, oldest first. */
  requests: readonly AttachedRequest[];
}

export interface AttachedRequest extends Pick<AgentRequest, 'kind' | 'title' | 'request'> {
  /** The agent's own id of the request. */
  key: string;
  /** Whether nobody can answer any more: the agent has withdrawn the request, or the turn was interrupted. */
  isCancelled: boolean;
  /** Waits for the answer, as `AgentSink.ask` does. */
  answer: (withdrawn: AbortSignal) => Promise<AgentAnswer>;
}

/** A tool of a turn as it is stored. */
export interface StoredTool {
  ref: string;
  /** The whole output. */
  text: string;
  isOpen: boolean;
}
