import type { AuthStatus, Model, ProviderDiagnostics, ProviderRecord } from '../api/providers.ts';
import type { ProviderId } from '../api/provider-kinds.ts';
import { AppError } from '../errors.ts';
import { type Login, type Provider, ProviderError } from './provider.ts';

/** The providers of this server, by name. */
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
    throw new AppError(
      'provider_unavailable',
      `this server has no provider "${id}" (it has: ${known}): use one of those`,
    );
  }

  /** A provider that could start an agent now. Throws `provider_unavailable`, with what to do. */
  usable(id: ProviderId): Provider {
    const provider = this.get(id);
    const problem = provider.problem();
    if (problem) throw new AppError('provider_unavailable', `${id}: ${problem}`);
    return provider;
  }

  /** The models of a provider. Throws `provider_unavailable`. */
  models(id: ProviderId): Promise<Model[]> {
    return refusing(id, this.usable(id).models());
  }

  /** Whether somebody is logged in. Throws `provider_unavailable`. */
  authStatus(id: ProviderId): Promise<AuthStatus> {
    return refusing(id, this.get(id).authStatus());
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
            `${id} accepts no login of another machine: set an API key`,
          );
        },
        end: () => refusing(id, login.end()),
      };
    }
    throw new AppError(
      'provider_managed',
      `the agent of ${id} keeps its own login: log in with its own command`,
    );
  }

  /** The providers as the interface shows them. */
  list(): ProviderRecord[] {
    return this.all().map((provider) => recordOf(provider, this.#preferred()));
  }

  /** The providers with what they run; `live` counts the live agents of a provider. */
  diagnostics(live: (id: ProviderId) => number): ProviderDiagnostics[] {
    return this.all().map((provider) => ({
      ...recordOf(provider, this.#preferred()),
      ...provider.stats(),
      sessions: live(provider.id),
    }));
  }
}

function recordOf(provider: Provider, preferred: ProviderId | null): ProviderRecord {
  const { id, displayName, enabled, capabilities } = provider;
  const problem = wrongWith(provider);
  return {
    id,
    display_name: displayName,
    enabled,
    healthy: problem === null,
    detail: problem ?? 'ready',
    default: id === preferred,
    capabilities: { ...capabilities },
  };
}

/** Why a provider is not healthy: it cannot start an agent, or its last start failed. Null for a healthy one. */
export function wrongWith(provider: Provider): string | null {
  const failure = provider.startFailure?.() ?? null;
  return provider.problem() ?? (failure === null ? null : `the last start failed: ${failure}`);
}

/** Turns a ProviderError into an AppError: a provider that cannot answer is no bug of the server. */
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
