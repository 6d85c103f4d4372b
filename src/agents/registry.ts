import type {
  AgentRecord,
  AuthStatus,
  Model,
  ProviderDiagnostics,
  ProviderRecord,
} from '../api/providers.ts';
import type { ProviderId } from '../api/provider-kinds.ts';
import { AppError, invalidError, notFoundError } from '../api/errors.ts';
import {
  type AgentKind,
  agentKindOf,
  type AgentLogin,
  type Login,
  type NamedAgentKind,
  type Provider,
  ProviderError,
  type SeenLogin,
  type TurnSettings,
} from './provider.ts';

export class ProviderRegistry {
  readonly #providers: ReadonlyMap<ProviderId, Provider>;
  readonly #preferred: () => ProviderId | null;

  /** `preferred` is the one for new sessions, where the configuration names one. */
  constructor(providers: readonly Provider[], preferred: () => ProviderId | null) {
    this.#preferred = preferred;
    this.#providers = new Map(providers.map((provider) => [provider.id, provider]));
  }

  all(): Provider[] {
    return [...this.#providers.values()];
  }

  find(id: ProviderId): Provider | undefined {
    return this.#providers.get(id);
  }

  /** Throws `provider_unavailable` for a provider that this server does not have. */
  get(id: ProviderId): Provider {
    const provider = this.#providers.get(id);
    if (provider) return provider;
    const known = [...this.#providers.keys()].join(', ') || 'none';
    throw new AppError('provider_unavailable', `unknown provider "${id}": choose from ${known}`);
  }

  /**
   * The name of the agent of a new session: the one that is asked for, else the one that the provider prefers; null for
   * a provider without named agents. Throws `invalid` for a name that there is not.
   */
  agentFor(id: ProviderId, asked: string | null): string | null {
    const { kinds } = this.get(id);
    if (asked === null) return kinds?.preferred ?? null;
    if (!kinds)
      throw invalidError(`agent: provider ${id} has only one agent: omit the field "agent"`);
    if (kinds.find(asked)) return asked;
    if (this.#providers.has(asked as ProviderId))
      throw invalidError(
        `agent: "${asked}" is a provider, not an agent: omit the field "agent", and set the field "provider" to "${asked}"`,
      );
    throw invalidError(`unknown agent "${asked}": choose from ${kinds.names.join(', ')}`);
  }

  /**
   * A kind of agent that could start one now; `agent` null is the one that the provider prefers. Throws
   * `provider_unavailable`, with what to do.
   */
  usable(id: ProviderId, agent: string | null): AgentKind {
    const provider = this.get(id);
    const kind = agentKindOf(provider, agent);
    const problem = kind
      ? kind.problem()
      : `agent "${agent}" is no longer configured: add a section [providers.${id}.agents.${agent}]`;
    if (kind && problem === null) return kind;
    throw new AppError('provider_unavailable', `${id}: ${problem}`);
  }

  /** Why an agent could not have the settings; null: it could, or only a live agent knows. */
  objection(id: ProviderId, agent: string | null, settings: TurnSettings): ProviderError | null {
    const provider = this.find(id);
    return (provider && agentKindOf(provider, agent))?.objection?.(settings) ?? null;
  }

  /** The models of a provider's agent. Throws `provider_unavailable`, and `invalid` for an unknown agent. */
  models(id: ProviderId, agent: string | null): Promise<Model[]> {
    return refusing(id, this.usable(id, this.agentFor(id, agent)).models());
  }

  /** Whether somebody is logged in. Throws `provider_unavailable`, and `invalid` for an unknown agent. */
  authStatus(id: ProviderId, agent: string | null): Promise<AuthStatus> {
    const provider = this.get(id);
    const kind = agentKindOf(provider, this.agentFor(id, agent)) ?? provider;
    return refusing(id, kind.authStatus());
  }

  /**
   * The login of a named agent. Throws `not_found` for an unknown agent, and `provider_unavailable` for one that could not
   * start.
   */
  agentLogin(id: ProviderId, agent: string): AgentLogin {
    const kind = this.get(id).kinds?.find(agent);
    if (!kind) throw notFoundError(`agent "${agent}" of provider ${id} not found`);
    const problem = kind.problem();
    if (problem !== null) throw new AppError('provider_unavailable', `${id}: ${problem}`);
    const { login } = kind;
    return {
      look: (signal) => refusing(id, login.look(signal)),
      pages: () => login.pages(),
      authenticate: (method, signal) => refusing(id, login.authenticate(method, signal)),
      check: (signal) => refusing(id, login.check(signal)),
      end: (signal) => refusing(id, login.end(signal)),
    };
  }

  /** Changes the login of a provider. Throws `provider_managed` where the agent keeps its own login. */
  login(id: ProviderId): Required<Login> {
    const { login } = this.get(id);
    if (login) {
      return {
        setKey: (key) => refusing(id, login.setKey(key)),
        import(auth) {
          if (login.import) return refusing(id, login.import(auth));
          throw new AppError(
            'provider_managed',
            `provider ${id} cannot import a login from another machine: set an API key`,
          );
        },
        end: () => refusing(id, login.end()),
      };
    }
    throw new AppError(
      'provider_managed',
      `each agent of provider ${id} manages its own login: log in with the agent's own command`,
    );
  }

  /** The enabled providers that are not healthy, with why. Health asks for them often, so agents are not listed for it. */
  unhealthy(): { id: ProviderId; detail: string }[] {
    return this.all().flatMap((provider) => {
      const detail = provider.enabled ? wrongWith(provider) : null;
      return detail === null ? [] : [{ id: provider.id, detail }];
    });
  }

  /** Asks the programs of agents in the background whether they are logged in. It returns at once. */
  lookAtLogins(): void {
    for (const provider of this.all()) if (provider.enabled) provider.lastAuth?.();
  }

  list(): ProviderRecord[] {
    return this.all().map((provider) => recordOf(provider, this.#preferred()));
  }

  /** The providers with what they run; `live` counts the live agents of a provider, or of one of its named agents. */
  diagnostics(live: (id: ProviderId, agent?: string) => number): ProviderDiagnostics[] {
    return this.all().map((provider) => ({
      ...recordOf(provider, this.#preferred()),
      ...provider.stats(),
      agents: kindsOf(provider).map((kind) => ({
        ...agentRecord(kind, provider.kinds?.preferred),
        ...countsOf(kind),
        sessions: live(provider.id, kind.name),
      })),
      sessions: live(provider.id),
    }));
  }
}

function kindsOf(provider: Provider): readonly NamedAgentKind[] {
  return provider.kinds?.list() ?? [];
}

/** Returns the diagnostics of a named agent without a pid, because it has one process for each session. */
function countsOf(kind: NamedAgentKind) {
  const { pid: _pid, ...counts } = kind.stats();
  return counts;
}

function agentRecord(kind: NamedAgentKind, preferred: string | null | undefined): AgentRecord {
  const problem = wrongWith(kind);
  const modes = kind.lastModes();
  const named = modes.filter((mode) => mode.name !== mode.id).map((mode) => [mode.id, mode.name]);
  return {
    name: kind.name,
    display_name: kind.displayName,
    configured: kind.isConfigured,
    installed: kind.isInstalled(),
    healthy: problem === null,
    detail: problem ?? 'ready',
    version: kind.stats().version,
    default: kind.name === preferred,
    modes: modes.map(({ id: mode }) => mode),
    ...(named.length > 0 && { mode_names: Object.fromEntries(named) }),
    asks: kind.asks ?? null,
    auth: kind.lastAuth(),
  };
}

function recordOf(provider: Provider, preferred: ProviderId | null): ProviderRecord {
  const { id, displayName, enabled, capabilities } = provider;
  const problem = wrongWith(provider);
  const auth = provider.lastAuth?.();
  return {
    id,
    display_name: displayName,
    enabled,
    healthy: problem === null,
    logged_in: auth?.authenticated ?? null,
    login_checked_at: auth?.checked_at ?? null,
    login_is_stale: auth?.is_stale ?? false,
    detail: problem ?? (auth?.authenticated === false ? loggedOutText(auth) : 'ready'),
    default: id === preferred,
    capabilities: { ...capabilities },
    agents: kindsOf(provider).map((kind) => agentRecord(kind, provider.kinds?.preferred)),
  };
}

function loggedOutText({ detail, checked_at: at, is_stale }: Partial<SeenLogin>): string {
  if (!is_stale || typeof at !== 'number') return detail ?? '';
  return `${detail} (reported at ${new Date(at).toISOString()}, and not since)`;
}

/** Why no agent is healthy: none can start, the last start failed, or nobody is logged in. Null for a healthy one. */
function wrongWith(kind: AgentKind): string | null {
  const failure = kind.startFailure?.() ?? null;
  return (
    kind.problem() ??
    (failure === null ? null : `the last start failed: ${failure}`) ??
    kind.loggedOut?.() ??
    null
  );
}

/** Turns a ProviderError into an AppError: a provider that cannot answer is not a bug of the server. */
async function refusing<T>(id: ProviderId, answer: Promise<T>): Promise<T> {
  try {
    return await answer;
  } catch (error) {
    if (!(error instanceof ProviderError)) throw error;
    throw new AppError('provider_unavailable', `${id}: ${error.message.replace(`${id}: `, '')}`, {
      cause: error,
    });
  }
}
