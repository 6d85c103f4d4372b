import type { SessionConfigOption, SessionModeState } from '@agentclientprotocol/sdk/unstable';
import type { Model } from '../api/providers.ts';
import type { Session } from '../api/sessions.ts';
import { chosen, modesOf, optionsOf, type Wishes } from './choices.ts';

/** What an editor has chosen for its turns in a session. Others who use the session do not get it. */
export class Choosing {
  readonly #session: Session;
  readonly #models: readonly Model[];
  #wishes: Wishes = { permission_mode: null, model: null, thinking_effort: null };

  constructor(session: Session, models: readonly Model[]) {
    this.#session = session;
    this.#models = models;
  }

  get wishes(): Wishes {
    return this.#wishes;
  }

  get offer(): { modes: SessionModeState; configOptions: SessionConfigOption[] } {
    return {
      modes: modesOf(this.#session, this.#wishes),
      configOptions: optionsOf(this.#session, this.#wishes, this.#models),
    };
  }

  /** Throws `invalid` for a choice that is not offered. */
  choose(option: string, value: unknown): void {
    const given = { session: this.#session, wishes: this.#wishes, models: this.#models };
    this.#wishes = chosen(option, value, given);
  }
}
