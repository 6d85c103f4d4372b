import { eventKinds, kindsMatching } from '../../../api/events.ts';
import type { EventScope } from '../../../client/event-scope.ts';
import { sessionName } from '../titles.ts';
import type { EventRow } from './event-row.ts';

/** The nouns that the events can be narrowed to, each with the key that does it for the selected event. */
export const scopes = [
  { key: 's', noun: 'session', option: 'sessionId', field: 'session_id' },
  { key: 'p', noun: 'process', option: 'processId', field: 'process_id' },
  { key: 't', noun: 'team', option: 'teamId', field: 'team_id' },
] as const satisfies {
  key: string;
  noun: string;
  option: keyof EventScope;
  field: keyof EventRow;
}[];

/** A scope in a few words. `title`: the title of its session, if it is known. */
export function describeScope(scope: EventScope, title: string | null): string {
  const nouns = scopes.flatMap(({ noun, option }) => {
    const id = scope[option];
    if (id === undefined) return [];
    return noun === 'session' ? [sessionName(id, title)] : [`${noun} ${id.slice(-8)}`];
  });
  return [...(nouns.length > 0 ? nouns : ['all']), ...(scope.kinds ?? [])].join(' · ');
}

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
