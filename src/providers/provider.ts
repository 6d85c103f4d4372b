import type { InputItem, Usage } from '../api/sessions.ts';
import type { Session } from '../api/sessions.ts';

/** What a provider can do; callers ask this instead of asking which provider it is. */
export interface Capabilities {
  images: boolean;
  approvals: boolean;
  interrupt: boolean;
  resume: boolean;
  usage: boolean;
  models: boolean;
}

/** What an agent says or does during a turn. An item is begun by its first mention. */
export type AgentUpdate =
  | {
      type: 'message' | 'reasoning';
      text: string;
      /** The agent's own id of the message, where it has one. */ ref?: string;
    }
  | { type: 'tool'; ref: string; change: ToolChange }
  | { type: 'plan'; entries: { content: string; status: string; priority: string | null }[] }
  | { type: 'usage'; usage: Partial<Usage> };

/** What is new about a tool call; absent: as before. */
export interface ToolChange {
  title?: string;
  kind?: string;
  input?: unknown;
  /** The whole output so far, as text. */
  output?: string;
  status?: 'pending' | 'running' | 'completed' | 'failed';
}

/** How a turn ended, as the agent says. */
export interface TurnOutcome {
  status: 'completed' | 'interrupted' | 'failed';
  error: { code: string; message: string } | null;
  usage?: Partial<Usage>;
}

/** Why no agent could be had for a turn; the turn fails with its code. */
export class ProviderError extends Error {
  override readonly name = 'ProviderError';
  /** `resume_failed`: the provider does not have the session any more. It then fails with its turn. */
  readonly code:
    | 'provider_unavailable'
    | 'resume_failed'
    | 'invalid_permission_mode'
    | 'invalid_model';

  constructor(code: ProviderError['code'], message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/** Where a live agent reports, at any time, also outside a turn. */
export interface AgentSink {
  /** Takes an update; a promise where the agent should wait before it says more. */
  update(update: AgentUpdate): Promise<void> | undefined;
}

/** A live agent that serves one session. */
export interface Agent {
  /** The provider's own name for the session: what resumes it. */
  readonly ref: string;
  readonly pid: number | null;
  /** Resolves when it is gone, with what is known of why. */
  readonly gone: Promise<string>;
  /** Runs one turn; resolves when it has ended, however it ended. */
  prompt(input: readonly InputItem[]): Promise<TurnOutcome>;
  /** Asks it to end the running turn. */
  cancel(): void;
  /** Ends it and all it started; resolves when nothing is left. */
  end(graceMs: number): Promise<void>;
}

/** A kind of agent. A new one is a folder that gives this. */
export interface Provider {
  readonly id: Session['provider'];
  readonly displayName: string;
  readonly enabled: boolean;
  readonly capabilities: Capabilities;
  /** Whether it could start an agent, told cheaply: null, or what is wrong and what to do. */
  problem(): string | null;
  /** Counts, for diagnostics. */
  stats(): { unknown_messages: number; last_error: string | null };
  /**
   * Starts (or, where the session has a ref, resumes) an agent. Throws {@link ProviderError}.
   * Aborting `signal` ends what was started.
   */
  open(session: Session, sink: AgentSink, signal: AbortSignal): Promise<Agent>;
}
