import { eventKinds, kindsMatching } from '../../api/events.ts';

const groups = [...new Set(eventKinds.map((kind) => kind.split('.')[0] ?? kind))];

/** The kinds in a text of kinds and names of groups. `unknown` is the message for a word that is neither. */
export function readKinds(text: string): { kinds: string[] | undefined; unknown: string | null } {
  const kinds = text
    .split(/[\s,]+/)
    .filter(Boolean)
    .map((word) => (groups.includes(word) ? `${word}.*` : word));
  const wrong = kinds.find((kind) => kindsMatching([kind]).size === 0);
  return {
    kinds: kinds.length > 0 ? kinds : undefined,
    unknown: wrong === undefined ? null : `unknown kind "${wrong}": expected ${groups.join(' ')}`,
  };
}
