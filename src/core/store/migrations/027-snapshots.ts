/** Snapshots of the files of sessions, by turn, and for which sessions a person has switched them on or off. */
export const migration027 = `
CREATE TABLE IF NOT EXISTS snapshots (
  n INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  record TEXT NOT NULL,
  sum INTEGER NOT NULL,
  session_id TEXT AS (record ->> '$.session_id') VIRTUAL,
  depot TEXT AS (record ->> '$.depot') VIRTUAL
);
CREATE INDEX IF NOT EXISTS snapshots_session ON snapshots (session_id, n);
CREATE INDEX IF NOT EXISTS snapshots_depot ON snapshots (depot, n);

CREATE TABLE IF NOT EXISTS snapshot_choices (
  session_id TEXT PRIMARY KEY,
  enabled INTEGER NOT NULL
) WITHOUT ROWID;
`;
