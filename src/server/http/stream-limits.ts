import { API_TOKEN_ID } from '../../api/tokens.ts';
import { AppError } from '../../api/errors.ts';
import type { TokenHolder } from '../../core/access/tokens.ts';

/** The maximum number of open streams: of all, and of one token; null: a quarter of all. */
export interface StreamSettings {
  all: number;
  ofOneToken: number | null;
}

/**
 * Decides who may open another stream. Each token except the API token has a limit of its own, and tokens that may only
 * read leave some streams for tokens with the scope admin, so that observers never lock the operator out.
 */
export class StreamLimits {
  readonly #settings: () => StreamSettings;
  readonly #ofToken = new Map<string, number>();
  #all = 0;
  #readers = 0;

  constructor(settings: () => StreamSettings) {
    this.#settings = settings;
  }

  /** Throws `too_many`, with the limit that is reached. */
  assertRoom({ id, scope }: Pick<TokenHolder, 'id' | 'scope'>): void {
    const { all, ofOneToken } = this.#settings();
    if (this.#all >= all)
      throw tooMany(`${all} event streams are already open`, 'server.max_streams');
    const own = ofOneToken ?? Math.max(1, Math.floor(all / 4));
    if (id !== API_TOKEN_ID && (this.#ofToken.get(id) ?? 0) >= own)
      throw tooMany(
        `this token already has ${own} open event streams`,
        'server.max_streams_per_token',
      );
    if (scope === 'read' && this.#readers >= all - keptForAdmins(all))
      throw tooMany(
        `the last ${keptForAdmins(all)} of ${all} event streams are reserved for tokens with the scope admin`,
        'server.max_streams',
      );
  }

  opened(holder: Pick<TokenHolder, 'id' | 'scope'>): void {
    this.#add(holder, 1);
  }

  closed(holder: Pick<TokenHolder, 'id' | 'scope'>): void {
    this.#add(holder, -1);
  }

  #add({ id, scope }: Pick<TokenHolder, 'id' | 'scope'>, change: 1 | -1): void {
    this.#all += change;
    if (scope === 'read') this.#readers += change;
    const count = (this.#ofToken.get(id) ?? 0) + change;
    if (count === 0) this.#ofToken.delete(id);
    else this.#ofToken.set(id, count);
  }
}

function tooMany(reason: string, key: string): AppError {
  return new AppError('too_many', `${reason}: close some streams, or raise ${key}`);
}

/** Returns a sixteenth of all streams; none if there is only one. */
function keptForAdmins(all: number): number {
  return all > 1 ? Math.ceil(all / 16) : 0;
}
