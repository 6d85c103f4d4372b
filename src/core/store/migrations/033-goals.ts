/** The goal of each session that was set last. The id of a row is the id of its session. */
export const migration033 = `
CREATE TABLE IF NOT EXISTS goals (
  n INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  record TEXT NOT NULL,
  sum INTEGER NOT NULL,
  status TEXT AS (record ->> '$.status') VIRTUAL,
  ends_by INTEGER AS (record ->> '$.ends_by') VIRTUAL
);
CREATE INDEX IF NOT EXISTS goals_status ON goals (status, n);
`;
