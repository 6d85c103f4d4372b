/**
 * The queue: entries of the inbox with times, which people see and change, and the reasons why a whole session waits.
 */
export const migration022 = `
CREATE TABLE IF NOT EXISTS queue_entries (
  n INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  record TEXT NOT NULL,
  sum INTEGER NOT NULL,
  session_id TEXT AS (record ->> '$.session_id') VIRTUAL,
  status TEXT AS (record ->> '$.status') VIRTUAL,
  next_at INTEGER AS (record ->> '$.next_at') VIRTUAL
);
CREATE INDEX IF NOT EXISTS queue_entries_session ON queue_entries (session_id, n);
CREATE INDEX IF NOT EXISTS queue_entries_next ON queue_entries (next_at) WHERE next_at IS NOT NULL;

-- Why a session begins no turn of its inbox, and until when (NULL: until somebody ends it).
CREATE TABLE IF NOT EXISTS session_holds (
  session_id TEXT NOT NULL,
  code TEXT NOT NULL,
  message TEXT NOT NULL,
  since INTEGER NOT NULL,
  until INTEGER,
  PRIMARY KEY (session_id, code)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS session_holds_until ON session_holds (until) WHERE until IS NOT NULL;
`;
