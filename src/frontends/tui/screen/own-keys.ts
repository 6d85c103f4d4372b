import { keyOf, screenActions } from '../../../core/lib/screen-keys.ts';
import type { Keys } from '../help.tsx';
import type { KeyTable } from '../keyboard.ts';

/** The keys of the screen as they are configured. */
export interface OwnKeys {
  /** A table whose actions have their usual keys, with those that are configured. */
  table: (usual: KeyTable) => KeyTable;
  /** How the key is shown that an action has in place of its usual one. */
  label: (usual: string) => string;
  /** A hint such as `i prompt  ⏎ open`, with the keys that are configured. */
  hint: (usual: string) => string;
  /** The lines of the help, with the keys that are configured. */
  help: (usual: Keys) => Keys;
}

/** The keys of the screen with the keys of `[screen.keys]`, which has no conflicts. */
export function ownKeys(configured: Readonly<Record<string, string>> = {}): OwnKeys {
  const own = Object.entries(screenActions)
    .map(([action, usual]) => [usual, keyOf(action, configured)] as const)
    .filter(([usual, key]) => usual !== key);
  const labels = new Map(own.map(([usual, key]) => [labelOf(usual), labelOf(key)]));
  const label = (usual: string) => labels.get(usual) ?? usual;
  return {
    label,
    table: (usual) => {
      const table = { ...usual };
      for (const [key] of own) delete table[key];
      for (const [key, mine] of own) table[mine] = usual[key];
      return table;
    },
    hint: (usual) => usual.replaceAll(/(^| {2})(\S+)/g, (_all, gap, key) => gap + label(key)),
    help: (usual) =>
      usual.map(([keys, meaning]) => {
        // Indented lines have keys of a dialog.
        const isOfDialog = keys.startsWith(' ');
        return [isOfDialog ? keys : keys.split(' ').map(label).join(' '), meaning] as const;
      }),
  };
}

const labels: Readonly<Record<string, string>> = { ' ': 'space', return: '⏎' };

function labelOf(key: string): string {
  if (key.startsWith('ctrl ')) return `^${key.slice(5).toUpperCase()}`;
  return labels[key] ?? key;
}
