import { DEFAULT_AGENT, providerKinds } from '../../api/provider-kinds.ts';
import type { AuthStatus, Model } from '../../api/providers.ts';
import type { Session } from '../../api/sessions.ts';
import type {
  Agent,
  AgentKinds,
  AgentSink,
  KnownSession,
  Provider,
  ProviderContext,
} from '../provider.ts';
import { AcpAgentKind } from './agent-kind.ts';
import { resolveAgents, type AcpSettings } from './resolve.ts';

/** The agents that speak the Agent Client Protocol, each by its name. */
export class AcpProvider implements Provider {
  readonly id = 'acp';
  readonly displayName = providerKinds.acp.displayName;
  readonly capabilities = providerKinds.acp.capabilities;
  readonly imagesByAgent = true;
  readonly kinds: AgentKinds;
  readonly #settings: AcpSettings | null;
  readonly #byName: ReadonlyMap<string, AcpAgentKind>;

  /** `settings`: null where the configuration has no section. */
  constructor(settings: AcpSettings | null, context: ProviderContext) {
    this.#settings = settings;
    const agents = resolveAgents(settings, process.env).map(
      (agent) => new AcpAgentKind(agent, context, refusalOf(settings)),
    );
    this.#byName = new Map(agents.map((agent) => [agent.name, agent]));
    this.kinds = {
      preferred: preferredOf(settings),
      list: () => agents.filter((one) => one.isConfigured || one.isInstalled()),
      names: agents.flatMap(({ name, isConfigured }) =>
        name === DEFAULT_AGENT && !isConfigured ? [] : [name],
      ),
      find: (name) => this.#byName.get(name),
    };
  }

  get enabled(): boolean {
    return this.#settings?.enabled ?? false;
  }

  problem(): string | null {
    const { preferred } = this.kinds;
    const refusal = refusalOf(this.#settings);
    if (refusal !== null) return refusal;
    if (this.#settings === null) return this.#withFound(NOT_CONFIGURED);
    if (preferred === null) return this.#nonePreferred(this.#settings);
    const kind = this.kinds.find(preferred);
    if (kind) return kind.problem();
    return `providers.acp.default_agent: unknown agent "${preferred}": choose from ${this.kinds.names.join(', ')}`;
  }

  startFailure(): string | null {
    return this.#preferred.startFailure();
  }

  loggedOut(): string | null {
    return this.#preferred.loggedOut();
  }

  lastAuth(): AuthStatus {
    return this.#preferred.lastAuth();
  }

  stats() {
    return this.#preferred.stats();
  }

  async authStatus(): Promise<AuthStatus> {
    const detail = this.problem();
    if (detail !== null && !this.enabled)
      return { authenticated: null, mode: 'not_configured', detail };
    return this.#preferred.authStatus();
  }

  models(): Promise<Model[]> {
    return this.#preferred.models();
  }

  open(session: Session, sink: AgentSink, signal: AbortSignal): Promise<Agent> {
    return this.#preferred.open(session, sink, signal);
  }

  listed(signal: AbortSignal): Promise<ReadonlySet<string> | null> {
    return this.#preferred.listed(signal);
  }

  has(session: KnownSession, signal: AbortSignal): Promise<boolean> {
    return this.#preferred.has(session, signal);
  }

  /** The preferred agent; where there is none, the one named `default`, which then cannot start. */
  get #preferred(): AcpAgentKind {
    const { preferred } = this.kinds;
    const kind = this.#byName.get(preferred ?? DEFAULT_AGENT) ?? this.#byName.get(DEFAULT_AGENT);
    return kind as AcpAgentKind;
  }

  #nonePreferred(settings: AcpSettings): string {
    const several = enabledAgents(settings);
    if (several.length === 0)
      return this.#withFound('no command configured: set providers.acp.command');
    return `several agents are configured: name one of ${several.join(', ')}, or set providers.acp.default_agent`;
  }

  /** Adds the agents that can be used by name all the same. */
  #withFound(problem: string): string {
    const found = this.kinds.list().filter((kind) => kind.problem() === null);
    if (found.length === 0) return problem;
    const names = found.map(({ name }) => name).join(', ');
    return `${problem}, or name an agent that is installed: ${names}`;
  }
}

const NOT_CONFIGURED = 'not configured: add a section [providers.acp] with a command';

/** Why the provider has no agents at all; null where it may have. */
function refusalOf(settings: AcpSettings | null): string | null {
  if (settings === null) return null;
  const { enabled, transport } = settings;
  if (!enabled) return 'disabled: set providers.acp.enabled to true';
  if (transport === 'stdio') return null;
  return `transport "${transport}" is not supported: use "stdio"`;
}

function preferredOf(settings: AcpSettings | null): string | null {
  if (settings === null) return null;
  if (settings.default_agent !== null) return settings.default_agent;
  if (settings.command !== null) return DEFAULT_AGENT;
  const [only, ...others] = enabledAgents(settings);
  return only !== undefined && others.length === 0 ? only : null;
}

/** The names of the agents that have a section and are not disabled. */
function enabledAgents({ agents }: AcpSettings): string[] {
  return Object.keys(agents).filter((name) => agents[name]?.enabled);
}
