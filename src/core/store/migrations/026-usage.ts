/**
 * What each turn has used, in the order in which turns ended: a range of days is read without the records of turns, whose
 * JSON is many times as large. And the budgets.
 */
export const migration026 = `
CREATE TABLE IF NOT EXISTS turn_usage (
  ended_at INTEGER NOT NULL,
  turn_id TEXT NOT NULL,
  session_id TEXT NOT NULL,
  provider TEXT NOT NULL,
  agent TEXT,
  -- The ids of the teams that its session was in, as a JSON array; NULL: in none.
  teams TEXT,
  -- NULL where the agent did not say.
  input_tokens INTEGER,
  output_tokens INTEGER,
  cached_input_tokens INTEGER,
  total_tokens INTEGER,
  cost_usd REAL,
  PRIMARY KEY (ended_at, turn_id)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS turn_usage_teams ON turn_usage (ended_at, turn_id) WHERE teams IS NOT NULL;

-- Turns of before: of their teams nothing is known.
INSERT OR IGNORE INTO turn_usage
  SELECT ended_at, turn_id, session_id, provider, agent, NULL, input, output, cached,
    CASE WHEN coalesce(input, output) IS NULL THEN total
      ELSE coalesce(total, coalesce(input, 0) + coalesce(output, 0) + coalesce(cached, 0)) END,
    cost
  FROM (SELECT turns.record ->> '$.ended_at' AS ended_at, turns.id AS turn_id, sessions.id AS session_id,
      sessions.record ->> '$.provider' AS provider, sessions.record ->> '$.agent' AS agent,
      turns.record ->> '$.usage.input_tokens' AS input, turns.record ->> '$.usage.output_tokens' AS output,
      turns.record ->> '$.usage.cached_input_tokens' AS cached,
      turns.record ->> '$.usage.total_tokens' AS total, turns.record ->> '$.usage.cost_usd' AS cost
    FROM turns JOIN sessions ON sessions.id = turns.session_id
    WHERE json_valid(turns.record) AND json_valid(sessions.record)
    AND turns.record ->> '$.started_at' IS NOT NULL AND turns.record ->> '$.ended_at' IS NOT NULL);

CREATE TABLE IF NOT EXISTS budgets (
  n INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  record TEXT NOT NULL,
  sum INTEGER NOT NULL,
  session_id TEXT AS (record ->> '$.session_id') VIRTUAL,
  team_id TEXT AS (record ->> '$.team_id') VIRTUAL,
  approval_id TEXT AS (record ->> '$.approval_id') VIRTUAL
);
CREATE INDEX IF NOT EXISTS budgets_of ON budgets (session_id, team_id);
`;
