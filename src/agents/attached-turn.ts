import type { AgentAnswer, AgentRequest, TurnSettings } from './provider.ts';

/** A running turn as it is stored, for an agent that another server has started. */
export interface AttachedTurn {
  settings: TurnSettings;
  /** Whether an interrupt of the turn is stored. The agent is asked again to end the turn. */
  isInterrupted: boolean;
  tools: readonly StoredTool[];
  /** The messages to the agent that its input may not have taken, in their order. */
  messages: readonly UnsentMessage[];
  /** The stored requests of the agent that have no answer yet, oldest first. */
  requests: readonly AttachedRequest[];
}

/** A message that the agent's input takes at most once under its number. */
export interface UnsentMessage {
  n: number;
  line: string;
  /** Called when the agent's input has taken the message. */
  onTaken: () => void;
}

export interface AttachedRequest extends Pick<AgentRequest, 'kind' | 'title' | 'request'> {
  /** The agent's own id of the request. */
  key: string;
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
