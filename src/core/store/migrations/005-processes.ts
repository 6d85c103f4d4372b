/** Processes, and the notices of their end that their owners have not received yet. */
export const migration005 = `
CREATE TABLE processes (
  n INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  record TEXT NOT NULL,
  sum INTEGER NOT NULL,
  session_id TEXT AS (record ->> '$.session_id') VIRTUAL,
  status TEXT AS (record ->> '$.status') VIRTUAL,
  trimmed INTEGER AS (record ->> '$.trimmed') VIRTUAL,
  ended_at INTEGER AS (record ->> '$.ended_at') VIRTUAL
);
CREATE INDEX processes_session ON processes (session_id, n);
CREATE INDEX processes_status ON processes (status, n);
CREATE INDEX processes_alive ON processes (session_id, n) WHERE status IN ('queued', 'running');
CREATE INDEX processes_trimmable ON processes (ended_at)
  WHERE status NOT IN ('queued', 'running') AND trimmed IS NOT 1;

CREATE TABLE process_notices (
  n INTEGER PRIMARY KEY,
  session_id TEXT NOT NULL,
  process_id TEXT NOT NULL,
  text TEXT NOT NULL
);
CREATE INDEX process_notices_session ON process_notices (session_id, n);
`;
