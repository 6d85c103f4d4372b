import { type ActionName, defaultKeys, explainedKeys } from '../../../core/lib/screen-actions.ts';
import { keyOf } from '../../../core/lib/screen-keys.ts';
import type { Keys } from '../help.tsx';
import type { KeyTable } from '../keyboard.ts';

/** The keys of the screen, with the keys of `[screen.keys]`, which has no conflicts. */
export class KeyBindings {
  readonly #configured: Readonly<Record<string, string>>;

  constructor(configured: Readonly<Record<string, string>> = {}) {
    this.#configured = configured;
  }

  table(actions: Partial<Record<ActionName, () => void>>): KeyTable {
    return Object.fromEntries(
      Object.entries(actions).map(([name, act]) => [
        keyOf(name as ActionName, this.#configured),
        act,
      ]),
    );
  }

  /** The key of an action as it is shown. */
  label(action: ActionName): string {
    return labelOf(keyOf(action, this.#configured));
  }

  /** The key of an action and its name, or other words for it, such as `i prompt`. */
  hint(action: ActionName, words = wordsOf(action)): string {
    return `${this.label(action)} ${words}`;
  }

  help(): Keys {
    const own = new Map(
      Object.entries(defaultKeys).map(([name, key]) => [
        labelOf(key),
        this.label(name as ActionName),
      ]),
    );
    return explainedKeys.map(({ meaning, actions, keys }) => {
      const fixed = keys.map((one) =>
        one.startsWith(' ') ? one : one.replaceAll(/\S+/g, (key) => own.get(key) ?? key),
      );
      return [[...actions.map((name) => this.label(name)), ...fixed].join(' '), meaning];
    });
  }
}

export function wordsOf(action: ActionName): string {
  return action.replaceAll('_', ' ');
}

const labels: Readonly<Record<string, string>> = {
  ' ': 'space',
  return: '⏎',
  leftArrow: '←',
  rightArrow: '→',
};

function labelOf(key: string): string {
  return key.startsWith('ctrl ') ? `^${key.slice(5).toUpperCase()}` : (labels[key] ?? key);
}
