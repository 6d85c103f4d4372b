import type { EventScope } from '../../client/event-scope.ts';
import type { Row } from './row.ts';
import { sessionName } from './titles.ts';

/** The nouns that a view can be narrowed to, each with the key that does it for the selected row. */
export const scopes = [
  { key: 's', noun: 'session', option: 'sessionId', field: 'session_id' },
  { key: 'p', noun: 'process', option: 'processId', field: 'process_id' },
  { key: 't', noun: 'team', option: 'teamId', field: 'team_id' },
] as const satisfies { key: string; noun: string; option: keyof EventScope; field: keyof Row }[];

/** A scope in a few words. `title`: the title of its session, if it is known. */
export function describeScope(scope: EventScope, title: string | null): string {
  const narrowed = scopes.flatMap(({ noun, option }) => {
    const id = scope[option];
    if (id === undefined) return [];
    return noun === 'session' ? [sessionName(id, title)] : [`${noun} ${id.slice(-8)}`];
  });
  return [...(narrowed.length > 0 ? narrowed : ['all']), ...(scope.kinds ?? [])].join(' · ');
}

/** The scope narrowed to the session, process or team of a row; null where the row has none. */
export function narrowed(
  { kinds }: EventScope,
  { option, field }: (typeof scopes)[number],
  row: Row,
): EventScope | null {
  const id = row[field];
  return id === null ? null : { kinds, [option]: id };
}
