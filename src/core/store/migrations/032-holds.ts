/**
 * One table of the reasons why a session starts no turn of its inbox. The tables before it are made again where they are
 * gone, so that the step may run twice. A start ends every wait for an agent, so only the pauses without an end are kept.
 */
export const migration032 = `
CREATE TABLE IF NOT EXISTS inbox_pauses (
  session_id TEXT PRIMARY KEY,
  failures INTEGER NOT NULL,
  until INTEGER
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS session_holds (
  session_id TEXT NOT NULL,
  code TEXT NOT NULL,
  message TEXT NOT NULL,
  since INTEGER NOT NULL,
  until INTEGER,
  PRIMARY KEY (session_id, code)
) WITHOUT ROWID;

-- A hold without an end (until) waits for somebody. One without a beginning (since) has no events of its own: its turn has them.
CREATE TABLE IF NOT EXISTS holds (
  session_id TEXT NOT NULL,
  code TEXT NOT NULL,
  message TEXT NOT NULL,
  since INTEGER,
  until INTEGER,
  failures INTEGER NOT NULL,
  PRIMARY KEY (session_id, code)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS holds_until ON holds (until) WHERE until IS NOT NULL AND since IS NOT NULL;

INSERT OR IGNORE INTO holds (session_id, code, message, since, until, failures)
  SELECT session_id, code, message, since, until, CASE code WHEN 'no_agent' THEN 5 ELSE 0 END FROM session_holds;
INSERT OR IGNORE INTO holds (session_id, code, message, since, until, failures)
  SELECT session_id, 'stopped', 'the last turn was interrupted', NULL, NULL, 0 FROM inbox_pauses WHERE until IS NULL;
DROP TABLE session_holds;
DROP TABLE inbox_pauses;
`;
