import type { Capabilities, ProviderId } from '../api/provider-kinds.ts';
import type { AgentLoginRecord, LoginPage } from '../api/agent-logins.ts';
import type { AuthStatus, Model } from '../api/providers.ts';
import type { McpServer } from '../api/mcp-servers.ts';
import type { Approval, ApprovalDetail, ApprovalScope, Question } from '../api/approvals.ts';
import type { AgentCommand } from '../api/commands.ts';
import type { ToolCall } from '../api/tool-call.ts';
import type { Session, Usage } from '../api/sessions.ts';
import type { Supervisor } from '../core/children/supervisor.ts';
import type { Clock } from '../core/lib/clock.ts';
import type { StoredInputItem } from '../api/input.ts';
import type { SandboxFor } from './agent-sandbox.ts';
import type { Conversations, ForkPoint } from './conversations.ts';
import type { AgentRows, HandledOutput, RequestOrigin } from './read-position.ts';

/** An update of a turn. The first update of an item begins the item. */
export type AgentUpdate =
  | {
      type: 'message' | 'reasoning';
      text: string;
      /** The agent's own id of the message, where it has one. */ ref?: string;
    }
  | { type: 'tool'; ref: string; change: ToolChange }
  | { type: 'plan'; entries: { content: string; status: string; priority: string | null }[] }
  | { type: 'usage'; usage: Partial<Usage> }
  /** A request was declined, because the permission mode of the turn asks nobody. */
  | { type: 'declined_unasked' }
  /** The agent's own title of the session. */
  | { type: 'title'; title: string }
  /** All slash commands that the agent has now. */
  | { type: 'commands'; commands: readonly AgentCommand[] }
  | {
      type: 'notice';
      /** In snake_case. */ code: string;
      /** For people. */ message: string;
    };

export interface ToolChange {
  title?: string;
  kind?: string;
  input?: unknown;
  /** The whole output so far, as text. */
  output?: string;
  status?: 'pending' | 'running' | 'completed' | 'failed';
  /** The locations that it is about, all of them. */
  locations?: NonNullable<ToolCall['locations']>;
  /** The changes of files that it makes or would make, all of them. */
  diffs?: NonNullable<ToolCall['diffs']>;
}

export interface KeptFile {
  path: string;
  bytes: number;
}

export interface TurnOutcome {
  status: 'completed' | 'interrupted' | 'failed';
  error: { code: string; message: string } | null;
  usage?: Partial<Usage>;
  /** The usage limit that ended the turn, where the agent says that one did. */
  limit?: ReportedLimit;
  /** The agent's own id of the end of the turn. */
  ref?: string;
}

export interface ReportedLimit {
  /** When it resets, in Unix ms; null: the agent does not say. */
  resetsAt: number | null;
  /** False: the limit is of one model, so that other sessions of the account may continue. */
  isOfAccount: boolean;
}

/** The longest message of a failure, in UTF-16 code units, and how much of its end is kept: there is what to do about it. */
const MAX_MESSAGE = 8192;
const MESSAGE_END = 2048;

/** A message of a failure, without its middle if it is too long: some agents send a stack or a page. */
function cutMessage(message: string): string {
  if (message.length <= MAX_MESSAGE) return message;
  const start = message.slice(0, MAX_MESSAGE - MESSAGE_END).toWellFormed();
  return `${start} … ${message.slice(-MESSAGE_END).toWellFormed()}`;
}

export function failed(code: string, message: string): TurnOutcome {
  return { status: 'failed', error: { code, message: cutMessage(message) } };
}

/** A usage limit of which the agent says nothing else. */
export const unknownLimit: ReportedLimit = { resetsAt: null, isOfAccount: true };

/** The outcome of a turn that a usage limit has ended. `reason`: the agent's own words. */
export function limited(who: string, reason: string, limit: ReportedLimit): TurnOutcome {
  return { ...failed('usage_limit', `${who} has reached a usage limit: ${reason}`), limit };
}

export async function lostTurn(gone: Promise<string>): Promise<TurnOutcome> {
  return failed('provider_exited', `the agent ${await gone}`);
}

/** Why a provider has no agent for a turn; the turn fails with the code. */
export class ProviderError extends Error {
  override readonly name = 'ProviderError';
  /**
   * `resume_failed`: the provider does not have the session any more, so the session fails with its turn.
   * `in_use_elsewhere`: another process has the conversation open.
   */
  readonly code:
    | 'provider_unavailable'
    | 'resume_failed'
    | 'in_use_elsewhere'
    | 'auth_required'
    | 'invalid_permission_mode'
    | 'invalid_agent_mode'
    | 'invalid_model'
    | 'invalid_thinking_effort'
    | 'unsupported_images';

  constructor(code: ProviderError['code'], message: string, options?: ErrorOptions) {
    super(cutMessage(message), options);
    this.code = code;
  }
}

/** The error of an agent that cannot be used now. */
export function unavailable(message: string, cause?: unknown): ProviderError {
  return new ProviderError('provider_unavailable', message, { cause });
}

/** A request of an agent: for a permission, or a question. */
export interface AgentRequest {
  kind: Approval['kind'];
  /** The name of the tool, where the agent states one; for rules. */
  tool?: string;
  title: string;
  /** The agent's own request, word for word. */
  request: unknown;
  /** All effects of the request, for people, uncut: the approval broker replaces details that are too large. */
  details: readonly ApprovalDetail[];
  /** Possible scopes of an acceptance (default: once). */
  scopes?: readonly ApprovalScope[];
  /** Description of an acceptance for the session, for people; absent if `session` is not offered. */
  sessionAllows?: string;
  /**
   * Whether cadre remembers an acceptance for the session and allows each later request with an equal subject once.
   * Absent: the agent remembers it.
   */
  isKeptByCadre?: boolean;
  /** Whether the agent does not say what the call would do, beyond its name. */
  lacksArguments?: boolean;
  /** The parts of a request of kind `question`, where the agent sends it in parts. */
  questions?: readonly Question[];
  /**
   * All that the request would do: tool, command, directory, arguments, contents. Requests with equal subjects are equal.
   * Null where the agent does not say exactly what it would do: then no request equals this one, and where it is
   * accepted while the agent is away, the agent's next request is asked for again.
   */
  subject: unknown;
}

/** The answer to a request. `cancelled`: the turn is over, or nobody can answer any more. */
export type AgentAnswer =
  | { decision: 'accept'; scope: ApprovalScope; answers: Record<string, string[]> | null }
  | { decision: 'decline'; reason: string | null }
  | { decision: 'cancelled' };

/** A session that a provider may still have. */
export interface KnownSession {
  /** The provider's own name for it. */
  ref: string;
  cwd: string;
  /** Whether no output of it was ever counted: some providers do not store such a session, and begin it again. */
  isEmpty: boolean;
}

/** Takes the reports of a live agent, which come at any time, also outside a turn. */
export interface AgentSink {
  /** Takes an update; a promise holds back the agent's next message. */
  update(update: AgentUpdate): Promise<void> | undefined;
  /**
   * Asks for an approval; resolves when it is decided. `withdrawn` aborts when the agent withdraws the request.
   */
  ask(request: AgentRequest, withdrawn: AbortSignal, origin?: RequestOrigin): Promise<AgentAnswer>;
  /** Keeps the data of an image or file that the agent shows; null where it is too large or could not be written. */
  saveFile(data: Buffer): Promise<KeptFile | null>;
  /** Absent if no other server can continue the turns of the agent. Its read position is stored with updates, too. */
  readonly rows?: AgentRows;
}

/** For an agent that is at no turn. */
export const silentSink: AgentSink = {
  update: () => undefined,
  ask: () => Promise.resolve({ decision: 'cancelled' }),
  saveFile: () => Promise.resolve(null),
};

/** Reports updates in their order, each after the sink has taken the one before. */
export async function report(
  sink: Pick<AgentSink, 'update'>,
  updates: readonly AgentUpdate[],
): Promise<void> {
  for (const update of updates) await sink.update(update);
}

export interface TurnSettings {
  /** Null or `default`: as the agent is configured. `require_approval`: its requests go to `AgentSink.ask`. */
  permissionMode: string | null;
  /** The agent's own mode, by its own name; null: what `permissionMode` says, else as the session began. */
  agentMode: string | null;
  model: string | null;
  thinkingEffort: string | null;
}

export function defaultSettings(): TurnSettings {
  return { permissionMode: null, agentMode: null, model: null, thinkingEffort: null };
}

/** A live agent that serves one session. */
export interface Agent {
  /** The provider's own name for the session, by which another agent resumes it. */
  readonly ref: string;
  /** The settings that the session began with: they hold where a turn requests none. */
  readonly defaults: TurnSettings;
  /** False: it never asks for a permission, in no mode; absent or null: it does, or nobody knows. */
  readonly asks?: boolean | null;
  /** Whether the agent has begun the session as a fork. Undefined: the agent has resumed the session. */
  readonly isForked?: boolean | undefined;
  readonly pid: number | null;
  /** How far its output is handled. Absent or null if no other server can continue its turns. */
  readonly output?: HandledOutput | null;
  /** Whether another agent could resume the session. An agent whose session cannot be resumed is not ended when idle. */
  readonly canResume: boolean;
  /** Resolves when the agent is gone, with why. */
  readonly gone: Promise<string>;
  /** Why the agent cannot have the settings, or null. It answers from memory, without a request to the agent. */
  objection(settings: TurnSettings): ProviderError | null;
  /** Whether the agent can serve no further turn, because its connection or process has ended. `gone` may resolve later. */
  isLost(): boolean;
  /** Whether the agent may still offer what the settings are about: until then {@link objection} is null. */
  awaits?(settings: TurnSettings): boolean;
  /** Waits until the agent has offered what the settings are about, for a few seconds at most. */
  untilOffered?(settings: TurnSettings, signal: AbortSignal): Promise<void>;
  /** Runs one turn; resolves when the turn has ended, also where it failed. Throws {@link ProviderError} before it began. */
  prompt(input: readonly StoredInputItem[], settings: TurnSettings): Promise<TurnOutcome>;
  cancel(): void;
  /** Ends the agent and all it started; resolves when nothing is left. */
  end(graceMs: number): Promise<void>;
}

/** The tools of a session's agent: an MCP server named `cadre`, and the servers of the client. */
export interface AgentTools {
  /** The servers of the client that opened the session, by names of their own. They hold secrets, as `sidecar` does. */
  readonly others: readonly McpServer[];
  /** How an agent starts the server by itself. `env` holds a secret, so the agent is given it by stdin and by no argument. */
  readonly sidecar: { command: string; args: string[]; env: Record<string, string> };
  /** Says that a new process of the agent is offered them: it has to ask for them itself. */
  renew(): void;
  /** Takes the offer of the tools back: the agent says that it uses none, or an earlier server has offered them. */
  decline(): void;
  /** The same server without a process of its own: its messages go to `send`. */
  connect(send: (message: object) => void): ToolChannel;
}

export interface ToolChannel {
  take(message: unknown): void;
  close(): void;
}

/** A login state, and how old it is. */
export interface SeenLogin extends AuthStatus {
  /** When it was reported or seen (Unix ms); null: never. */
  checked_at: number | null;
  /** Whether it is older than a minute or from before a change of the login, and no newer one was reported. */
  is_stale: boolean;
}

/** Changes the login of a provider. Throws AppError `provider_managed` where the login is the user's own. */
export interface Login {
  setKey(key: string): Promise<AuthStatus>;
  /** Takes the file in which the agent keeps a login, made elsewhere. Absent where the agent has no such file. */
  import?(auth: object): Promise<AuthStatus>;
  end(): Promise<AuthStatus>;
}

export interface ProviderContext {
  supervisor: Supervisor;
  clock: Clock;
  toolsFor: (sessionId: string) => AgentTools;
  /** Plans the sandbox of the agent of a session. Absent: agents run without one. */
  sandboxFor?: SandboxFor;
  /** Whether programs of agents are asked for their login state in the background. */
  asksLogins?: boolean;
}

/** One kind of agent. A provider has one kind, or several named kinds. */
export interface AgentKind {
  readonly capabilities: Capabilities;
  /** Whether only a live agent knows if it takes images: then messages to its session have none. */
  readonly imagesByAgent?: boolean;
  /** False: its agents never ask for a permission, in no mode; absent or null: they do, or nobody knows. */
  readonly asks?: boolean | null;
  /** Why no agent could start, and what to do about it; null where one could. It is cheap: nothing is started. */
  problem(): string | null;
  /** Why the last start of an agent failed, or null. The next turn tries again all the same. */
  startFailure?(): string | null;
  /** Advice if nobody is logged in to the agent, as far as its processes have shown; else null. It is cheap. */
  loggedOut?(): string | null;
  /** The login state that was seen last. It returns at once, and may ask for the next state in the background. */
  lastAuth?(): AuthStatus & Partial<SeenLogin>;
  /** Why no agent could have the settings, or null, as far as that is known without an agent. */
  objection?(settings: TurnSettings): ProviderError | null;
  stats(): {
    version: string | null;
    command: string | null;
    /** The process that serves all sessions, where there is one. */
    pid: number | null;
    unknown_messages: number;
    last_error: string | null;
  };
  authStatus(): Promise<AuthStatus>;
  /** The conversations that the agent's own program stores. Absent if they cannot be listed. */
  readonly conversations?: Conversations;
  models(): Promise<Model[]>;
  /** The refs of the sessions that the agent says it has; null where it has no list. Throws {@link ProviderError}. */
  listed(signal: AbortSignal): Promise<ReadonlySet<string> | null>;
  /**
   * Whether the agent still has a session, or can begin it again. It is not called while the session has an agent.
   * Throws {@link ProviderError} where that cannot be found out.
   */
  has(session: KnownSession, signal: AbortSignal): Promise<boolean>;
  /**
   * Starts an agent: it resumes the session if that has a ref, else forks at `fork` if it can. Aborting `signal` ends what
   * was started. Throws {@link ProviderError}.
   */
  open(session: Session, sink: AgentSink, signal: AbortSignal, fork?: ForkPoint): Promise<Agent>;
}

/** A kind of agent with a name, of a provider that has several. */
export interface NamedAgentKind extends AgentKind {
  readonly name: string;
  readonly displayName: string;
  readonly isConfigured: boolean;
  isInstalled(): boolean;
  lastAuth(): AuthStatus;
  /** The modes of its own that it last offered. */
  lastModes(): readonly { id: string; name: string }[];
  /** The names for modes of cadre, from the catalogue and the configuration, that it did not offer last. */
  missingModes(): readonly (readonly [mode: string, name: string])[];
  /** Starts an agent, opens a session in a directory with the tools and ends the agent. Throws {@link ProviderError} if that fails. */
  try(cwd: string, tools: AgentTools, signal: AbortSignal): Promise<void>;
  readonly login: AgentLogin;
}

/**
 * The login of a named agent. Each call starts the agent for that alone; aborting `signal` ends it. Throws
 * {@link ProviderError}, `invalid` for a method that cannot be called, and `provider_managed` where the agent has none.
 */
export interface AgentLogin {
  /** The ways to log in that it offers. */
  look(signal: AbortSignal): Promise<AgentLoginRecord>;
  /** Logs in with a method; null: the configured one, else the only one. */
  authenticate(methodId: string | null, signal: AbortSignal): Promise<AuthStatus>;
  /** The pages that a call of `authenticate` under way asks a person to open. */
  pages(): readonly LoginPage[];
  /** Opens a session, to see whether somebody is logged in. */
  check(signal: AbortSignal): Promise<AuthStatus>;
  end(signal: AbortSignal): Promise<AuthStatus>;
}

export interface AgentKinds {
  /** The name of the kind that a new session gets which names none; null: none is preferred. */
  readonly preferred: string | null;
  /** The kinds that are configured or installed, in the order in which they are listed. */
  list(): readonly NamedAgentKind[];
  /** The names of all that are configured or known, installed or not. */
  readonly names: readonly string[];
  /** A kind that is configured or known, installed or not. */
  find(name: string): NamedAgentKind | undefined;
}

/** A provider: a folder with a class that implements this. With several kinds of agents, it is also the preferred kind. */
export interface Provider extends AgentKind {
  readonly id: ProviderId;
  readonly displayName: string;
  readonly enabled: boolean;
  /** Absent where the agent manages its own. */
  readonly login?: Login;
  /** Absent where there is one kind of agent. */
  readonly kinds?: AgentKinds;
}

/** The kind of agent that serves a session; undefined where the provider does not have it any more. */
export function agentKindOf(provider: Provider, agent: string | null): AgentKind | undefined {
  return provider.kinds && agent !== null ? provider.kinds.find(agent) : provider;
}
