import { hostsOfBaseUrls } from '../../core/lib/host-lists.ts';
import path from 'node:path';
import type { BarrierSandbox } from '../../core/children/spawn-barrier.ts';
import { DEFAULT_AGENT, providerKinds } from '../../api/provider-kinds.ts';
import type { AuthStatus, Model } from '../../api/providers.ts';
import type { Session } from '../../api/sessions.ts';
import { findProgram } from '../../core/lib/find-program.ts';
import { HealthRecord } from '../health-record.ts';
import {
  type Agent,
  type AgentSink,
  type AgentTools,
  type KnownSession,
  type NamedAgentKind,
  type ProviderContext,
  ProviderError,
} from '../provider.ts';
import { programsOf, type SandboxedSession } from '../agent-sandbox.ts';
import { agentLogin } from './agent-login.ts';
import { type LastSeen, nothingSeen } from './last-seen.ts';
import { hasSession, listSessions, openAcpAgent, tryAgent } from './open.ts';
import type { StartOptions } from './process.ts';
import type { ResolvedAgent } from './resolve.ts';
import { agentEnvironment, pickVariables } from '../../core/children/environment.ts';
import { newSecret } from '../../core/lib/ids.ts';
import { makeDirectory } from '../../core/lib/make-directory.ts';
import { catalogue } from './catalogue.ts';

/** One agent by its name: with an environment, a home and a record of its own, it starts one process a session. */
export class AcpAgentKind implements NamedAgentKind {
  readonly capabilities = providerKinds.acp.capabilities;
  readonly imagesByAgent = true;
  readonly agent: ResolvedAgent;
  readonly lastSeen: LastSeen = nothingSeen();
  readonly #context: ProviderContext;
  #environmentOnceUsed: Record<string, string> | undefined;
  readonly #health = new HealthRecord();
  readonly login = agentLogin((signal, ask) =>
    this.#ask(process.cwd(), 'agent, started for its login', signal, ask),
  );
  #looking: Promise<void> | null = null;
  /** Why the whole provider has no agents; null where it has. */
  readonly #refusal: string | null;

  constructor(agent: ResolvedAgent, context: ProviderContext, refusal: string | null) {
    this.agent = agent;
    this.#context = context;
    this.#refusal = refusal;
  }

  /** Made when it is first used: most agents of the catalogue are not installed. */
  get #environment(): Record<string, string> {
    return (this.#environmentOnceUsed ??= environmentOf(this.agent, process.env));
  }

  get name(): string {
    return this.agent.name;
  }

  get asks(): boolean | null {
    return this.agent.asks;
  }

  get displayName(): string {
    return this.agent.displayName;
  }

  get isConfigured(): boolean {
    return this.agent.isConfigured;
  }

  isInstalled(): boolean {
    const { command } = this.agent;
    return command !== null && findProgram(command, this.#environment.PATH) !== null;
  }

  problem(): string | null {
    const { name, command, isEnabled, install } = this.agent;
    const section = name === DEFAULT_AGENT ? 'providers.acp' : `providers.acp.agents.${name}`;
    if (this.#refusal !== null) return this.#refusal;
    if (!isEnabled) return `disabled: set providers.acp.agents.${name}.enabled to true`;
    if (command === null) return `no command configured: set ${section}.command`;
    if (this.isInstalled()) return null;
    const way = install === null ? '' : `install it (${install}), or `;
    return `command "${command}" not found on PATH: ${way}set ${section}.command`;
  }

  startFailure(): string | null {
    return this.#health.startFailure;
  }

  loggedOut(): string | null {
    if (this.lastSeen.auth.status().authenticated !== false) return null;
    return `not logged in: run cadre providers login acp --agent ${this.name}`;
  }

  stats() {
    return this.#health.stats(this.agent.command);
  }

  lastAuth(): AuthStatus {
    const detail = this.problem();
    if (detail !== null) return { authenticated: null, mode: 'not_configured', detail };
    return this.lastSeen.auth.status();
  }

  lastModes(): readonly { id: string; name: string }[] {
    return this.lastSeen.modes;
  }

  missingModes(): readonly (readonly [mode: string, name: string])[] {
    const offered = this.lastModes();
    // Nothing is known here about an agent that offers its modes only after a first prompt.
    if (offered.length === 0) return [];
    return Object.entries(this.agent.modes).flatMap(([mode, name]) =>
      name === undefined || offered.some(({ id }) => id === name) ? [] : [[mode, name] as const],
    );
  }

  async authStatus(): Promise<AuthStatus> {
    return this.lastAuth();
  }

  /** The models that the agent offered last. One is started for them where none has opened a session yet. */
  async models(): Promise<Model[]> {
    if (this.lastSeen.models === null) await this.#look();
    return [...(this.lastSeen.models ?? [])];
  }

  #look(): Promise<void> {
    this.#looking ??= this.#try(process.cwd(), null, new AbortController().signal);
    return this.#looking.finally(() => (this.#looking = null));
  }

  async open(session: Session, sink: AgentSink, signal: AbortSignal): Promise<Agent> {
    const tools = this.#context.toolsFor(session.id);
    const open = (start: StartOptions) => openAcpAgent(session, sink, tools, start);
    return this.#ask(session.cwd, `agent of ${session.id}`, signal, open, session);
  }

  listed(signal: AbortSignal): Promise<ReadonlySet<string> | null> {
    return this.#ask(process.cwd(), 'agent, started to list its sessions', signal, listSessions);
  }

  has({ ref, cwd }: KnownSession, signal: AbortSignal): Promise<boolean> {
    const look = (start: StartOptions) => hasSession(ref, start);
    const nobody = { id: null, cwd, permission_mode: null };
    return this.#ask(cwd, 'agent, started to look up a session', signal, look, nobody);
  }

  try(cwd: string, tools: AgentTools, signal: AbortSignal): Promise<void> {
    return this.#try(cwd, tools, signal);
  }

  #try(cwd: string, tools: AgentTools | null, signal: AbortSignal): Promise<void> {
    return this.#ask(cwd, 'agent, started for a check', signal, (start) => tryAgent(start, tools));
  }

  #ask<T>(
    cwd: string,
    what: string,
    signal: AbortSignal,
    ask: (start: StartOptions) => Promise<T>,
    /** The session that the agent works for. Without one, the agent starts in the directory of the server, and in no sandbox. */
    session: SandboxedSession | null = null,
  ): Promise<T> {
    const asking = async () => {
      makeHome(this.agent);
      const sandbox = session === null ? null : await this.#sandboxFor(session);
      return ask({ ...this.#start(cwd, what, signal), sandbox });
    };
    return this.#health.noted(asking(), signal);
  }

  async #sandboxFor(session: SandboxedSession): Promise<BarrierSandbox | null> {
    const { name, command, args, state, sandbox: more } = this.agent;
    const section = name === DEFAULT_AGENT ? 'providers.acp' : `providers.acp.agents.${name}`;
    const programs = programsOf(command, args, this.#environment.PATH);
    const hosts = [...this.agent.hosts, ...hostsOfBaseUrls(this.#environment)];
    const none = { scratch: [], settings: [], pinned: [] };
    const files = { section, programs, state, more, hosts, ...none };
    return (await this.#context.sandboxFor?.(session, files)) ?? null;
  }

  #start(cwd: string, what: string, signal: AbortSignal): Omit<StartOptions, 'sandbox'> {
    const { supervisor, clock } = this.#context;
    const { command, args, requestTimeoutMs } = this.agent;
    return {
      agent: this.agent,
      lastSeen: this.lastSeen,
      command: command ?? '',
      args,
      env: this.#environment,
      cwd,
      what,
      requestTimeoutMs,
      signal,
      supervisor,
      clock,
      onUnknown: () => {
        this.#health.unknownMessages++;
      },
      onVersion: (version) => {
        this.#health.version = version;
      },
      starting: (start) => this.#health.started(start, signal),
    };
  }
}

/**
 * Returns the environment of an agent: the usual variables of `from`, its secrets and passed variables, its home, and
 * the configured variables. No other agent gets any of the last three.
 */
export function environmentOf(
  { passEnv, home, homeVariables, env }: ResolvedAgent,
  from: NodeJS.ProcessEnv,
): Record<string, string> {
  const homes = Object.entries(homeVariables).map(
    ([name, below]) => [name, path.join(home ?? '', below)] as const,
  );
  return agentEnvironment(from, {
    ...lockedDoors(),
    ...pickVariables(passEnv, from),
    ...(home === null ? {} : Object.fromEntries(homes)),
    ...env,
  });
}

/** Makes the home of an agent, which only its owner can enter. Throws {@link ProviderError}. */
function makeHome({ name, home }: ResolvedAgent): void {
  if (home === null) return;
  try {
    makeDirectory(home);
  } catch (error) {
    throw new ProviderError(
      'provider_unavailable',
      `acp: cannot create the home directory "${home}" of agent ${name} (${(error as Error).message}): set providers.acp.agents.${name}.home to a directory that is writable for the user who runs cadre`,
      { cause: error },
    );
  }
}

/**
 * The secrets that close the doors of agents. Every agent gets them, because it may be a known one under another name.
 */
function lockedDoors(): Record<string, string> {
  const names = catalogue.flatMap(({ secrets }) => secrets);
  return Object.fromEntries(names.map((name) => [name, newSecret()]));
}
