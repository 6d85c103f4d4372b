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

  /** A provider that could start an agent just now. Throws `provider_unavailable`, with what to do. */
  usable(id: ProviderId): Provider {
    const provider = this.#providers.get(id);
    if (!provider) {
      const known = [...this.#providers.keys()].join(', ') || 'none';
      throw new AppError(
        'provider_unavailable',
        `this server has no provider "${id}" (it has: ${known})`,
      );
    }
    const problem = provider.problem();
    if (problem) throw new AppError('provider_unavailable', `${id}: ${problem}`);
    return provider;
  }
}
