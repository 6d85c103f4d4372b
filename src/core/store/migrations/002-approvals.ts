/** Approvals, with the run that has their agent; stored answers for repeated requests. */
export const migration002 = `
CREATE TABLE approvals (
  n INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  record TEXT NOT NULL,
  sum INTEGER NOT NULL,
  session_id TEXT AS (record ->> '$.session_id') VIRTUAL,
  turn_id TEXT AS (record ->> '$.turn_id') VIRTUAL,
  status TEXT AS (record ->> '$.status') VIRTUAL
);
CREATE INDEX approvals_session ON approvals (session_id, n);
CREATE INDEX approvals_turn ON approvals (turn_id, status, n);
CREATE INDEX approvals_status ON approvals (status, n);

-- The answer to a request with an Idempotency-Key, kept for a day.
CREATE TABLE idempotency (
  key TEXT PRIMARY KEY,
  fingerprint TEXT NOT NULL,
  status INTEGER NOT NULL,
  answer TEXT NOT NULL,
  created_at INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX idempotency_age ON idempotency (created_at);
`;
