import type { EventScopeName } from '../api/event-scopes.ts';

/** The part of the log that is read. Without an id, it is the whole log. */
export interface EventScope {
  sessionId?: string | undefined;
  processId?: string | undefined;
  teamId?: string | undefined;
  /** Only events of these kinds, or groups of kinds. */
  kinds?: readonly string[] | undefined;
}

/** A scope as its routes take it. */
export interface ScopeInput {
  name: EventScopeName;
  /** Null for the whole log. */
  id: string | null;
  params: Record<string, string>;
  query: { kind?: string[] };
}

export function scopeInput({ sessionId, processId, teamId, kinds }: EventScope): ScopeInput {
  const query = kinds ? { kind: [...kinds] } : {};
  const ids = { session: sessionId, process: processId, team: teamId };
  for (const name of ['session', 'process', 'team'] as const) {
    const id = ids[name];
    if (id !== undefined) return { name, id, params: { [`${name}_id`]: id }, query };
  }
  return { name: 'runtime', id: null, params: {}, query };
}
