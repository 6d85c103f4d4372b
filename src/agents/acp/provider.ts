import { DEFAULT_AGENT, providerKinds } from '../../api/provider-kinds.ts';
import type { AuthStatus } from '../../api/providers.ts';
import type { AgentKinds, KnownSession, Provider, ProviderContext } from '../provider.ts';
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
  /** The preferred agent; where there is none, the one named `default`, which then cannot start. */
  readonly #preferred: AcpAgentKind;
  readonly startFailure = () => this.#preferred.startFailure();
  readonly loggedOut = () => this.#preferred.loggedOut();
  readonly lastAuth = () => this.#preferred.lastAuth();
  readonly stats = () => this.#preferred.stats();
  readonly models = () => this.#preferred.models();
  readonly open = (...session: Parameters<Provider['open']>) => this.#preferred.open(...session);
  readonly attach = (...left: Parameters<AcpAgentKind['attach']>) =>
    this.#preferred.attach(...left);
  readonly listed = (signal: AbortSignal) => this.#preferred.listed(signal);
  readonly has = (known: KnownSession, signal: AbortSignal) => this.#preferred.has(known, signal);

  /** `settings`: null where the configuration has no section. */
  constructor(settings: AcpSettings | null, context: ProviderContext) {
    this.#settings = settings;
    const agents = resolveAgents(settings, process.env).map(
      (agent) => new AcpAgentKind(agent, context, refusalOf(settings)),
    );
    const preferred = preferredOf(settings);
    const find = (name: string | null) => agents.find((agent) => agent.name === name);
    this.#preferred = find(preferred) ?? (find(DEFAULT_AGENT) as AcpAgentKind);
    this.kinds = {
      preferred,
      list: () => agents.filter((one) => one.isConfigured || one.isInstalled()),
      names: agents.flatMap(({ name, isConfigured }) =>
        name === DEFAULT_AGENT && !isConfigured ? [] : [name],
      ),
      find,
    };
  }

  get conversations(): AcpAgentKind['conversations'] {
    return this.#preferred.conversations;
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

  async authStatus(): Promise<AuthStatus> {
    const detail = this.problem();
    if (detail !== null && !this.enabled)
      return { authenticated: null, mode: 'not_configured', detail };
    return this.#preferred.authStatus();
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
