import type { RuntimeEventRecord } from '../../../src/api/events.ts';

/** An event of a session, or of nobody. */
export function event(
  seq: number,
  kind: string,
  payload: Record<string, unknown> = {},
  more: Partial<RuntimeEventRecord> = {},
): RuntimeEventRecord {
  return {
    seq,
    id: `evt_${seq}`,
    kind,
    scope: 'session',
    session_id: 'sess_1',
    turn_id: 'turn_1',
    process_id: null,
    worktree_id: null,
    team_id: null,
    created_at: 1000 + seq,
    v: 1,
    payload,
    ...more,
  };
}

/** A piece of a message. */
export function delta(seq: number, item_id: string, offset: number, text: string) {
  return event(seq, 'message.delta', { item_id, offset, text });
}

/** The end of a message. */
export function closing(seq: number, item_id: string, text: string) {
  return event(seq, 'message.completed', { item_id, offset: 0, status: 'completed', text });
}
