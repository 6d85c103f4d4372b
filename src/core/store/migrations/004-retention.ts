/**
 * Retention: which data of closed sessions it has not deleted yet. The indexes of events by kind are dropped, because
 * no query uses them and each append has to update them.
 */
export const migration004 = `
ALTER TABLE sessions ADD COLUMN trimmed INTEGER AS (record ->> '$.trimmed') VIRTUAL;
ALTER TABLE sessions ADD COLUMN closed_at INTEGER AS (record ->> '$.closed_at') VIRTUAL;
CREATE INDEX sessions_trimmable ON sessions (closed_at) WHERE status = 'closed' AND trimmed IS NOT 1;

ALTER TABLE turns ADD COLUMN trimmed INTEGER AS (record ->> '$.trimmed') VIRTUAL;
CREATE INDEX turns_trimmable ON turns (session_id, n) WHERE trimmed IS NOT 1;

ALTER TABLE items ADD COLUMN session_id TEXT AS (record ->> '$.session_id') VIRTUAL;
CREATE INDEX items_aside ON items (session_id, n) WHERE turn_id IS NULL;

DROP INDEX events_kind;
DROP INDEX deltas_kind;
`;
