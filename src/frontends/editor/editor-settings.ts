import type { SessionConfigOption, SessionModeState } from '@agentclientprotocol/sdk/unstable';
import type { Session } from '../../api/sessions.ts';
import { chosen, modesOf, type Offered, optionsOf, type ChosenSettings } from './choices.ts';

/** The settings of an editor for its turns in a session. They do not apply to others who use the session. */
export class EditorSettings {
  readonly #session: Session;
  readonly #offered: Offered;
  #wishes: ChosenSettings = {
    permission_mode: null,
    agent_mode: null,
    model: null,
    thinking_effort: null,
  };

  constructor(session: Session, offered: Offered) {
    this.#session = session;
    this.#offered = offered;
  }

  get chosenSettings(): ChosenSettings {
    return this.#wishes;
  }

  get offer(): { modes: SessionModeState; configOptions: SessionConfigOption[] } {
    return {
      modes: modesOf(this.#session, this.#wishes),
      configOptions: optionsOf(this.#session, this.#wishes, this.#offered),
    };
  }

  /** Throws `invalid` for a choice that is not offered. */
  choose(option: string, value: unknown): void {
    const context = { session: this.#session, wishes: this.#wishes, offered: this.#offered };
    this.#wishes = chosen(option, value, context);
  }
}
