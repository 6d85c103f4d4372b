import { noWishes, type ProviderError, type TurnSettings } from '../provider.ts';
import { type Choice, choicesOf, objectionTo, type OpenedSession, wantedOf } from './options.ts';

/** The settings that can be chosen in a session, and their values now. */
export class Choices {
  readonly #choices: readonly Choice[];
  /** The value that was last set for each choice; a choice without one is as the session began. */
  readonly #chosen = new Map<Choice, string>();
  /** What the session began with. */
  readonly defaults: TurnSettings = noWishes();

  /** `earlier`: what the session began with. Its last agent may have left it with the wish of a single turn. */
  constructor(opened: OpenedSession, earlier: TurnSettings | null) {
    this.#choices = choicesOf(opened);
    for (const choice of this.#choices) {
      const began = earlier?.[choice.name] ?? null;
      this.defaults[choice.name] = began ?? choice.current;
      if (began === null || began === choice.current || !choice.known.includes(began)) continue;
      if (choice.current !== null) this.#chosen.set(choice, choice.current);
      choice.current = began;
    }
  }

  /** Why the settings cannot be had, or null. */
  objection(settings: TurnSettings): ProviderError | null {
    return objectionTo(settings, this.#choices);
  }

  /** The choices to set before a turn. A setting that the turn does not wish for is as the session began. */
  *wantedBy(settings: TurnSettings): Iterable<{ choice: Choice; value: string }> {
    for (const choice of this.#choices) {
      const value = wantedOf(settings, choice) ?? choice.current;
      const now = this.#chosen.get(choice) ?? choice.current;
      if (value !== null && value !== now) yield { choice, value };
    }
  }

  note(choice: Choice, value: string): void {
    this.#chosen.set(choice, value);
  }

  /** An agent may change its mode by itself: the next turn has to know, to set it back. */
  noteMode(mode: string): void {
    const choice = this.#choices.find(({ name }) => name === 'permissionMode');
    if (choice) this.#chosen.set(choice, mode);
  }
}
