import type { ProviderDiagnostics, ProviderRecord } from '../api/providers.ts';
import type { ProviderId } from '../api/sessions.ts';
import { AppError } from '../errors.ts';
import type { Provider } from './provider.ts';

/** The providers of this server, by name. */
export class ProviderRegistry {
  readonly #providers: ReadonlyMap<ProviderId, Provider>;

  constructor(providers: readonly Provider[]) {
    this.#providers = new Map(providers.map((provider) => [provider.id, provider]));
  }

  all(): Provider[] {
    return [...this.#providers.values()];
  }

  /** Throws `provider_unavailable` for one that this server does not have. */
  get(id: ProviderId): Provider {
    const provider = this.#providers.get(id);
    if (provider) return provider;
    const known = [...this.#providers.keys()].join(', ') || 'none';
    throw new AppError(
      'provider_unavailable',
      `this server has no provider "${id}" (it has: ${known}): use one of those`,
    );
  }

  /** A provider that could start an agent just now. Throws `provider_unavailable`, with what to do. */
  usable(id: ProviderId): Provider {
    const provider = this.get(id);
    const problem = provider.problem();
    if (problem) throw new AppError('provider_unavailable', `${id}: ${problem}`);
    return provider;
  }

  /** The providers as they are shown. */
  list(): ProviderRecord[] {
    return this.all().map(describe);
  }

  /** The providers with what they run; `live` tells how many agents live. */
  diagnostics(live: (id: ProviderId) => number): ProviderDiagnostics[] {
    return this.all().map((provider) => ({
      ...describe(provider),
      ...provider.stats(),
      pid: null,
      sessions: live(provider.id),
    }));
  }
}

function describe(provider: Provider): ProviderRecord {
  const { id, displayName, enabled, capabilities } = provider;
  const problem = provider.problem();
  return {
    id,
    display_name: displayName,
    enabled,
    healthy: problem === null,
    detail: problem ?? 'ready',
    capabilities: { ...capabilities },
  };
}
