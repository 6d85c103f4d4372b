/**
 * Retention: closed sessions whose events have not gone yet. No query reads events by their kind alone: those
 * indexes only made every append dearer.
 */
export const migration004 = `
ALTER TABLE sessions ADD COLUMN trimmed INTEGER AS (record ->> '$.trimmed') VIRTUAL;
CREATE INDEX sessions_trimmable ON sessions (n) WHERE status = 'closed' AND trimmed IS NOT 1;

DROP INDEX events_kind;
DROP INDEX deltas_kind;
`;
