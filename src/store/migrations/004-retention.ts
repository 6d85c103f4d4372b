/**
 * Retention: what has not been taken yet of closed sessions. No query reads events by their kind alone: those
 * indexes only made every append dearer.
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
