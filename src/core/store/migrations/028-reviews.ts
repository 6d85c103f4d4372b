/** Comments on the diffs of sessions, until they are sent. */
export const migration028 = `
CREATE TABLE IF NOT EXISTS review_comments (
  n INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  record TEXT NOT NULL,
  sum INTEGER NOT NULL,
  session_id TEXT AS (record ->> '$.session_id') VIRTUAL
);
CREATE INDEX IF NOT EXISTS review_comments_session ON review_comments (session_id, n);
`;
