import type { UntypedEvent } from './untyped-events.ts';

/** An event of the runtime with every field. */
export function anEvent(more: Partial<UntypedEvent>): UntypedEvent {
  return {
    seq: 1,
    id: 'evt_1',
    kind: 'runtime.started',
    scope: 'runtime',
    session_id: null,
    turn_id: null,
    process_id: null,
    worktree_id: null,
    team_id: null,
    created_at: 1,
    v: 1,
    payload: {},
    ...more,
  };
}
