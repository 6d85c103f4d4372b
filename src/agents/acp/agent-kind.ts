import { hostsOfBaseUrls } from '../../core/lib/host-lists.ts';
import path from 'node:path';
import type { BarrierSandbox } from '../../core/children/spawn-barrier.ts';
import { DEFAULT_AGENT, providerKinds } from '../../api/provider-kinds.ts';
import type { AuthStatus, Model } from '../../api/providers.ts';
import { findProgram } from '../../core/lib/find-program.ts';
import type { AttachedAgent, TakesOver } from '../attached-turn.ts';
import { HealthRecord } from '../health-record.ts';
import type {
  Agent,
  AgentTools,
  KnownSession,
  NamedAgentKind,
  ProviderContext,
} from '../provider.ts';
import { programsOf, type SandboxedSession } from '../agent-sandbox.ts';
import { agentLogin } from './agent-login.ts';
import { AcpConversations } from './conversations.ts';
import { LastSeen } from './last-seen.ts';
import {
  askAgent,
  attachAcpAgent,
  hasSession,
  listSessions,
  openAcpAgent,
  openProbeSession,
} from './open.ts';
import type { StartOptions } from './process.ts';
import type { ResolvedAgent } from './resolve.ts';
import { agentEnvironment, pickVariables } from '../../core/children/environment.ts';
import { withoutEmptyHomes } from '../../core/lib/agent-homes.ts';
import { newSecret } from '../../core/lib/ids.ts';
import { catalogue } from './catalogue.ts';
import { makeHome } from '../agent-process.ts';

/** One agent by its name: with an environment, a home and a record of its own, it starts one process a session. */
export class AcpAgentKind implements NamedAgentKind, TakesOver {
  readonly capabilities = providerKinds.acp.capabilities;
  readonly imagesByAgent = true;
  readonly agent: ResolvedAgent;
  readonly name: string;
  readonly displayName: string;
  readonly isConfigured: boolean;
  readonly lastSeen = new LastSeen();
  readonly #context: ProviderContext;
  #environmentOnceUsed: Record<string, string> | undefined;
  readonly #health = new HealthRecord();
  readonly authStatus = async () => this.lastAuth();
  readonly lastModes = () => this.lastSeen.modes;
  readonly stats = () => this.#health.stats(this.agent.command);
  readonly startFailure = () => this.#health.startFailure;
  readonly login = agentLogin((signal, ask) =>
    this.#ask(process.cwd(), 'agent, started for its login', signal, ask),
  );
  readonly conversations = new AcpConversations({
    program: () => this.displayName,
    command: (ref) => ownCommand(this.agent, ref),
    now: () => this.#context.clock.monotonic(),
    ask: (what, cwd, signal, question) =>
      this.#ask(
        cwd ?? process.cwd(),
        `agent, ${what}`,
        signal,
        (start) => askAgent(start, question),
        cwd === null ? null : { id: null, cwd, permission_mode: null },
      ),
  });
  #looking: Promise<void> | null = null;
  /** Why the whole provider has no agents; null where it has. */
  readonly #refusal: string | null;

  constructor(agent: ResolvedAgent, context: ProviderContext, refusal: string | null) {
    this.agent = agent;
    this.name = agent.name;
    this.displayName = agent.displayName;
    this.isConfigured = agent.isConfigured;
    this.#context = context;
    this.#refusal = refusal;
  }

  /** Made when it is first used: most agents of the catalogue are not installed. */
  get #environment(): Record<string, string> {
    return (this.#environmentOnceUsed ??= environmentOf(this.agent, process.env));
  }

  get asks(): boolean | null {
    return this.agent.asks;
  }

  get #section(): string {
    return this.name === DEFAULT_AGENT ? 'providers.acp' : `providers.acp.agents.${this.name}`;
  }

  isInstalled(): boolean {
    const { command } = this.agent;
    return command !== null && findProgram(command, this.#environment.PATH) !== null;
  }

  problem(): string | null {
    const { name, command, isEnabled, install } = this.agent;
    const section = this.#section;
    if (this.#refusal !== null) return this.#refusal;
    if (!isEnabled) return `disabled: set providers.acp.agents.${name}.enabled to true`;
    if (command === null) return `no command configured: set ${section}.command`;
    if (this.isInstalled()) return null;
    const way = install === null ? '' : `install it (${install}), or `;
    return `command "${command}" not found on PATH: ${way}set ${section}.command`;
  }

  loggedOut(): string | null {
    if (this.lastSeen.auth.status().authenticated !== false) return null;
    return `not logged in: run cadre providers login acp --agent ${this.name}`;
  }

  lastAuth(): AuthStatus {
    const detail = this.problem();
    if (detail !== null) return { authenticated: null, mode: 'not_configured', detail };
    return this.lastSeen.auth.status();
  }

  missingModes(): readonly (readonly [mode: string, name: string])[] {
    const offered = this.lastModes();
    // Nothing is known here about an agent that offers its modes only after a first prompt.
    if (offered.length === 0) return [];
    return Object.entries(this.agent.modes).flatMap(([mode, name]) =>
      name === undefined || offered.some(({ id }) => id === name) ? [] : [[mode, name] as const],
    );
  }

  /** The models that the agent offered last. One is started for them where none has opened a session yet. */
  async models(): Promise<Model[]> {
    if (this.lastSeen.models === null) {
      const look = () => this.try(process.cwd(), null, new AbortController().signal);
      await (this.#looking ??= look().finally(() => (this.#looking = null)));
    }
    return [...(this.lastSeen.models ?? [])];
  }

  async open(...[session, sink, signal, fork]: Parameters<NamedAgentKind['open']>): Promise<Agent> {
    const tools = this.#context.toolsFor(session.id);
    const open = (start: StartOptions) => openAcpAgent(session, sink, tools, start, fork ?? null);
    return this.#ask(session.cwd, `agent of ${session.id}`, signal, open, session);
  }

  attach(...[session, sink, left]: Parameters<TakesOver['attach']>): AttachedAgent {
    const what = `agent of ${session.id}`;
    const { signal } = new AbortController();
    const start = this.#startOptions({ cwd: session.cwd, what, signal }, null);
    return attachAcpAgent(session, sink, left, start);
  }

  listed(signal: AbortSignal): Promise<ReadonlySet<string> | null> {
    return this.#ask(process.cwd(), 'agent, started to list its sessions', signal, listSessions);
  }

  has({ ref, cwd }: KnownSession, signal: AbortSignal): Promise<boolean> {
    const look = (start: StartOptions) => hasSession(ref, start);
    const nobody = { id: null, cwd, permission_mode: null };
    return this.#ask(cwd, 'agent, started to look up a session', signal, look, nobody);
  }

  try(cwd: string, tools: AgentTools | null, signal: AbortSignal): Promise<void> {
    const open = (start: StartOptions) => askAgent(start, openProbeSession, { tools });
    return this.#ask(cwd, 'agent, started for a check', signal, open);
  }

  #ask<T>(
    cwd: string,
    what: string,
    signal: AbortSignal,
    ask: (start: StartOptions) => Promise<T>,
    /** The session that the agent works for. Without one, the agent starts in the directory of the server, and in no sandbox. */
    session: SandboxedSession | null = null,
  ): Promise<T> {
    return this.#health.noted(
      this.#starting({ cwd, what, signal }, session).then((start) => ask(start)),
      signal,
    );
  }

  async #starting(
    about: Pick<StartOptions, 'cwd' | 'what' | 'signal'>,
    session: SandboxedSession | null,
  ): Promise<StartOptions> {
    const { name, home } = this.agent;
    const section = `providers.acp.agents.${name}`;
    if (home !== null) makeHome(home, { provider: 'acp', agent: ` of agent ${name}`, section });
    return this.#startOptions(about, session === null ? null : await this.#sandboxFor(session));
  }

  #startOptions(
    about: Pick<StartOptions, 'cwd' | 'what' | 'signal'>,
    sandbox: BarrierSandbox | null,
  ): StartOptions {
    const { command, args } = this.agent;
    const { supervisor, clock } = this.#context;
    return {
      ...about,
      agent: this.agent,
      lastSeen: this.lastSeen,
      command: command ?? '',
      args,
      env: this.#environment,
      sandbox,
      supervisor,
      clock,
      onUnknown: this.#health.countUnknown,
      onVersion: this.#health.noteVersion,
      starting: (start) => this.#health.started(start, about.signal),
    };
  }

  async #sandboxFor(session: SandboxedSession): Promise<BarrierSandbox | null> {
    const { command, args, state, sandbox: more } = this.agent;
    const programs = programsOf(command, args, this.#environment.PATH);
    const hosts = [...this.agent.hosts, ...hostsOfBaseUrls(this.#environment)];
    const own = { section: this.#section, programs, state, more, hosts };
    const files = { ...own, scratch: [], settings: [], pinned: [] };
    return (await this.#context.sandboxFor?.(session, files)) ?? null;
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
  const added = {
    ...lockedDoors(),
    ...pickVariables(passEnv, from),
    ...Object.fromEntries(homesOf({ home, homeVariables })),
    ...env,
  };
  return withoutEmptyHomes(agentEnvironment(from, added));
}

/** The variables that name the home of an agent, if the home is cadre's alone. */
function homesOf({
  home,
  homeVariables,
}: Pick<ResolvedAgent, 'home' | 'homeVariables'>): [name: string, path: string][] {
  if (home === null) return [];
  return Object.entries(homeVariables).map(([name, below]) => [name, path.join(home, below)]);
}

/**
 * Returns the command that continues a conversation in the agent's own program, with the program and the home that are
 * configured; empty if it is not known. An id that could be an option is in no command, because an agent chooses the id.
 */
export function ownCommand(agent: ResolvedAgent, ref: string): string[] {
  const [program, ...words] = agent.continues;
  if (program === undefined || !/^\w\S*$/.test(ref)) return [];
  const isAgent = agent.command !== null && path.basename(agent.command) === program;
  const homes = homesOf(agent).map(([name, value]) => `${name}=${value}`);
  return [
    ...(homes.length === 0 ? [] : ['env', ...homes]),
    isAgent ? (agent.command ?? program) : program,
    ...words,
    ref,
  ];
}

/**
 * The secrets that close the doors of agents. Every agent gets them, because it may be a known one under another name.
 */
function lockedDoors(): Record<string, string> {
  const names = catalogue.flatMap(({ secrets }) => secrets);
  return Object.fromEntries(names.map((name) => [name, newSecret()]));
}
