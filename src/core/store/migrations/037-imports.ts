/**
 * The conversations of agents that sessions continue, and the turns that ran in the agents' own programs. The id of an
 * import is the id of its session. `conversation` is null once the session is closed.
 */
export const migration037 = `
CREATE TABLE IF NOT EXISTS imports (
  n INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  record TEXT NOT NULL,
  sum INTEGER NOT NULL,
  status TEXT AS (record ->> '$.status') VIRTUAL,
  conversation TEXT AS (record ->> '$.conversation') VIRTUAL
);
CREATE UNIQUE INDEX IF NOT EXISTS imports_conversation ON imports (conversation)
  WHERE conversation IS NOT NULL;
CREATE INDEX IF NOT EXISTS imports_status ON imports (status, n);

CREATE TABLE IF NOT EXISTS past_turns (
  n INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  record TEXT NOT NULL,
  sum INTEGER NOT NULL,
  session_id TEXT AS (record ->> '$.session_id') VIRTUAL,
  ref TEXT AS (record ->> '$.ref') VIRTUAL
);
CREATE UNIQUE INDEX IF NOT EXISTS past_turns_ref ON past_turns (session_id, ref);
CREATE INDEX IF NOT EXISTS past_turns_session ON past_turns (session_id, n);
`;
