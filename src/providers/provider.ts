import type { Capabilities, ProviderId } from '../api/provider-kinds.ts';
import type { AuthStatus, Model } from '../api/providers.ts';
import type { Approval, Question } from '../api/approvals.ts';
import type { Session, StoredInputItem, Usage } from '../api/sessions.ts';
import type { Supervisor } from '../children/supervisor.ts';
import type { Clock } from '../lib/clock.ts';

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

/** A turn that failed. */
export function failed(code: string, message: string): TurnOutcome {
  return { status: 'failed', error: { code, message } };
}

/** The outcome of a turn whose agent is gone. */
export async function lostTurn(gone: Promise<string>): Promise<TurnOutcome> {
  return failed('provider_exited', `the agent ${await gone}`);
}

/** Why no agent could be had for a turn; the turn fails with its code. */
export class ProviderError extends Error {
  override readonly name = 'ProviderError';
  /** `resume_failed`: the provider does not have the session any more. It then fails with its turn. */
  readonly code:
    | 'provider_unavailable'
    | 'resume_failed'
    | 'invalid_permission_mode'
    | 'invalid_model'
    | 'invalid_thinking_effort'
    | 'unsupported_images';

  constructor(code: ProviderError['code'], message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/** What an agent wants to be allowed, or to know. */
export interface AgentRequest {
  kind: Approval['kind'];
  title: string;
  /** Word for word. */
  request: unknown;
  /** What it wants to know, where its kind is `question` and it says that in parts. */
  questions?: readonly Question[];
  /**
   * All that it would do: tool, command, directory, arguments, contents; requests with equal subjects are the same.
   * Null where the agent does not tell exactly what it would do: then no other request is the same, and one that was
   * accepted while the agent was away is asked for again.
   */
  subject: unknown;
}

/** What it is told. `cancelled`: the turn is over, or nobody can answer any more. */
export type AgentAnswer =
  | { decision: 'accept'; answers: Record<string, string[]> | null }
  | { decision: 'decline'; reason: string | null }
  | { decision: 'cancelled' };

/** A session that a provider may have still. */
export interface KnownSession {
  /** What the provider called it. */
  ref: string;
  cwd: string;
  /** Nothing that it said was ever counted: some providers keep no such session, and begin it again. */
  isEmpty: boolean;
}

/** Where a live agent reports, at any time, also outside a turn. */
export interface AgentSink {
  /** Takes an update; a promise where the agent should wait before it says more. */
  update(update: AgentUpdate): Promise<void> | undefined;
  /** Asks for an approval; resolves when it is decided. `withdrawn` aborts when the agent takes it back. */
  ask(request: AgentRequest, withdrawn: AbortSignal): Promise<AgentAnswer>;
}

/** Reports updates in their order, each when the one before was taken. */
export async function report(sink: AgentSink, updates: readonly AgentUpdate[]): Promise<void> {
  for (const update of updates) await sink.update(update);
}

/** What holds for one turn. */
export interface TurnSettings {
  /** Null or `default`: as the agent is configured. `require_approval`: what it asks goes to `AgentSink.ask`. */
  permissionMode: string | null;
  model: string | null;
  thinkingEffort: string | null;
}

/** Settings that wish for nothing. */
export function noWishes(): TurnSettings {
  return { permissionMode: null, model: null, thinkingEffort: null };
}

/** What an earlier agent of a session began with; null where the session has had none. */
export function earlierDefaults({ provider_defaults: began }: Session): TurnSettings | null {
  return (
    began && {
      permissionMode: began.permission_mode,
      model: began.model,
      thinkingEffort: began.thinking_effort,
    }
  );
}

/** A live agent that serves one session. */
export interface Agent {
  /** The provider's own name for the session: what resumes it. */
  readonly ref: string;
  /** What the session began with, of what a turn can wish for: what holds where a turn wishes nothing. */
  readonly defaults: TurnSettings;
  readonly pid: number | null;
  /** Whether its session could go on in another one. One that cannot is not ended to save memory. */
  readonly canResume: boolean;
  /** Resolves when it is gone, with what is known of why. */
  readonly gone: Promise<string>;
  /** Why the settings cannot be had, or null. Told without asking the agent. */
  objection(settings: TurnSettings): ProviderError | null;
  /** Runs one turn; resolves when it has ended, however it ended. Throws {@link ProviderError} before it began. */
  prompt(input: readonly StoredInputItem[], settings: TurnSettings): Promise<TurnOutcome>;
  /** Asks it to end the running turn. */
  cancel(): void;
  /** Ends it and all it started; resolves when nothing is left. */
  end(graceMs: number): Promise<void>;
}

/** The tools that the agent of a session is given, as an MCP server named `cadre`. */
export interface AgentTools {
  /** How an agent starts the server by itself. `env` holds a secret: it goes over the agent's stdin, into no argument. */
  readonly sidecar: { command: string; args: string[]; env: Record<string, string> };
  /** The same server without a process: what it says is given to `send`. */
  connect(send: (message: object) => void): ToolChannel;
}

/** A way to the tools that an agent speaks MCP over. */
export interface ToolChannel {
  take(message: unknown): void;
  close(): void;
}

/** The login of a provider, where it may be changed over HTTP. Throws `provider_managed` for one that is the user's own. */
export interface Login {
  setKey(key: string): Promise<AuthStatus>;
  /** Takes a login that was made elsewhere, as the agent keeps it. Absent where that cannot be done. */
  import?(auth: object): Promise<AuthStatus>;
  end(): Promise<AuthStatus>;
}

/** What every provider is given. */
export interface ProviderContext {
  supervisor: Supervisor;
  clock: Clock;
  /** The tools that the agent of a session is given. */
  toolsFor: (sessionId: string) => AgentTools;
}

/** A kind of agent. A new one is a folder with a class that implements this. */
export interface Provider {
  readonly id: ProviderId;
  readonly displayName: string;
  readonly enabled: boolean;
  readonly capabilities: Capabilities;
  /** Only an agent that lives can tell whether it takes images: messages, whose senders wait for none, have none. */
  readonly imagesByAgent?: boolean;
  /** Whether it could start an agent, told cheaply: null, or what is wrong and what to do. */
  problem(): string | null;
  /** Why an agent of it did not come up when one was last started, or null. It is tried again all the same. */
  startFailure?(): string | null;
  /** Why no agent of it could ever have the settings, or null. What only an agent knows is not told here. */
  objection?(settings: TurnSettings): ProviderError | null;
  /** For diagnostics. */
  stats(): {
    version: string | null;
    command: string | null;
    /** Of a process that serves all sessions. */
    pid: number | null;
    unknown_messages: number;
    last_error: string | null;
  };
  authStatus(): Promise<AuthStatus>;
  /** Absent where the agent manages its own. */
  readonly login?: Login;
  models(): Promise<Model[]>;
  /** The refs of the sessions it says it has; null where it cannot say. Throws {@link ProviderError}. */
  listed(signal: AbortSignal): Promise<ReadonlySet<string> | null>;
  /**
   * Whether it has one session still, for certain, or can begin it again. Never asked while the session has an agent.
   * Throws {@link ProviderError} where that cannot be told.
   */
  has(session: KnownSession, signal: AbortSignal): Promise<boolean>;
  /**
   * Starts (or, where the session has a ref, resumes) an agent. Throws {@link ProviderError}.
   * Aborting `signal` ends what was started.
   */
  open(session: Session, sink: AgentSink, signal: AbortSignal): Promise<Agent>;
}
