import type { Session } from '../api/sessions.ts';
import type { Child } from '../core/children/supervisor.ts';
import type {
  Agent,
  AgentAnswer,
  AgentRequest,
  AgentSink,
  TurnOutcome,
  TurnSettings,
} from './provider.ts';
import type { ReadPosition } from './read-position.ts';

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
  /** Whether the agent has withdrawn the request before any interrupt of the turn. */
  isWithdrawn: boolean;
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

/** An agent that an earlier server has left at a turn. */
export interface SurvivingAgent {
  readonly child: Child;
  /** The offset at which the output of the child begins: the lowest position of all sessions that the child serves. */
  readonly from: number;
  readonly position: ReadPosition;
  readonly turn: AttachedTurn;
}

export interface AttachedAgent {
  readonly agent: Agent;
  /** Resolves and rejects as `Agent.prompt` does. */
  readonly outcome: Promise<TurnOutcome>;
}

/** Has an agent that an earlier server has left continue its turn. An agent that cannot is ended by `end`. */
export function attached(
  agent: Agent & Continues,
  { provider_session_ref: ref }: Session,
  { position, turn }: SurvivingAgent,
  end: () => Promise<unknown>,
): AttachedAgent {
  try {
    return { agent, outcome: agent.attach(ref ?? '', position.state ?? '', turn) };
  } catch (error) {
    void end();
    throw error;
  }
}

interface Continues {
  attach(ref: string, state: string, turn: AttachedTurn): Promise<TurnOutcome>;
}

/** A kind of agent whose agents another server can take over. */
export interface TakesOver {
  /** Takes over the agent of a running turn from an earlier server, at once. Throws ProviderError. */
  attach(session: Session, sink: AgentSink, left: SurvivingAgent): AttachedAgent;
}
