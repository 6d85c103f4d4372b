/** The migrations after `firstMigrations`, in order. Once released, a migration is never edited. */
export const furtherMigrations = [
  // 014: Sessions of the provider whose agents have names now: it had one agent, the one that is named `default`.
  {
    table: 'sessions',
    complete: (session: Record<string, unknown>) => ({
      agent: session.provider === 'acp' ? 'default' : null,
      ...session,
    }),
  },
  // 015: Sessions and turns from before an agent's own mode had a field: agents of acp had theirs in
  // `permission_mode`.
  {
    table: 'sessions',
    complete: (session: Record<string, unknown>) => {
      const began = (session.provider_defaults ?? null) as Record<string, unknown> | null;
      const mode = session.provider === 'acp' ? (began?.permission_mode ?? null) : null;
      return {
        ...session,
        agent_mode: null,
        agent_asks: null,
        provider_defaults: began && { ...began, agent_mode: mode },
      };
    },
  },
  {
    table: 'turns',
    complete: (turn: Record<string, unknown>) => ({ ...turn, agent_mode: null }),
  },
  // 016: The slash commands of sessions' agents, as JSON, as each agent reported them last.
  `
CREATE TABLE IF NOT EXISTS session_commands (
  session_id TEXT PRIMARY KEY,
  commands TEXT NOT NULL
);
`,
  // 017: Processes of before: none was started by an external caller.
  {
    table: 'processes',
    complete: (process: Record<string, unknown>) => ({ caller_id: null, ...process }),
  },
  // The processes of one external caller, newest first.
  `
CREATE INDEX IF NOT EXISTS processes_caller ON processes (record ->> '$.caller_id', n);
`,
  // Tokens of before: their use was not noted, and none had a permission mode.
  {
    table: 'tokens',
    complete: (token: Record<string, unknown>) => ({
      permission_mode: null,
      last_used_at: null,
      ...token,
    }),
  },
  // 018: Whether a screen stays silent about a session.
  {
    table: 'sessions',
    complete: (session: Record<string, unknown>) => ({ muted: false, ...session }),
  },
  // 019: The MCP servers that clients gave to the agents of sessions. They hold secrets, so they are no part of the
  // records that answers and events show.
  `
CREATE TABLE IF NOT EXISTS session_mcp_servers (
  n INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  record TEXT NOT NULL,
  sum INTEGER NOT NULL
);
`,
  // 021: The events of a kind. An index entry is 25 bytes, and one more page is written in a transaction for each kind
  // in it; without it, a stream of a rare kind reads all events of the log.
  `
CREATE INDEX IF NOT EXISTS events_kind ON events (kind, seq);
CREATE INDEX IF NOT EXISTS deltas_kind ON deltas (kind, seq);
`,
  // 022: The queue: entries of the inbox with times, which people see and change, and the reasons why a whole session
  // waits.
  `
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
`,
  // 023: The rules that decide approvals.
  `
CREATE TABLE IF NOT EXISTS approval_rules (
  n INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  record TEXT NOT NULL,
  sum INTEGER NOT NULL
);
`,
  // 024: Programs ask for the worktree that holds their directory.
  `
CREATE INDEX IF NOT EXISTS worktrees_path ON worktrees (record ->> '$.path');
`,
  // Completes worktrees, and the operations on worktrees that a crash has cut off.
  { table: 'worktrees', complete: withIncludedAndPorts },
  {
    table: 'worktree_operations',
    complete: (operation: Record<string, unknown>) => ({
      ...operation,
      worktree: withIncludedAndPorts(operation.worktree as Record<string, unknown>),
    }),
  },
  // 025: The usage limits that agents have reported of their accounts.
  `
CREATE TABLE IF NOT EXISTS usage_limits (
  provider TEXT NOT NULL,
  -- The name of the agent, where those of the provider have names; else empty.
  agent TEXT NOT NULL,
  message TEXT NOT NULL,
  since INTEGER NOT NULL,
  -- NULL: it is not known when the limit resets.
  until INTEGER,
  PRIMARY KEY (provider, agent)
) WITHOUT ROWID;
`,
  // 026: What each turn has used, in the order in which turns ended: a range of days is read without the records of
  // turns, whose JSON is many times as large. And the budgets.
  `
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
`,
  // 027: Snapshots of the files of sessions, by turn, and for which sessions a person has switched them on or off.
  `
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
`,
  // 028: Comments on the diffs of sessions, until they are sent.
  `
CREATE TABLE IF NOT EXISTS review_comments (
  n INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  record TEXT NOT NULL,
  sum INTEGER NOT NULL,
  session_id TEXT AS (record ->> '$.session_id') VIRTUAL
);
CREATE INDEX IF NOT EXISTS review_comments_session ON review_comments (session_id, n);
`,
  // 030: How far each hook has come in the log, and the links that answer one approval each.
  `
CREATE TABLE IF NOT EXISTS hooks (
  n INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  record TEXT NOT NULL,
  sum INTEGER NOT NULL
);

CREATE TABLE IF NOT EXISTS approval_links (
  n INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  record TEXT NOT NULL,
  sum INTEGER NOT NULL,
  secret_sha256 TEXT AS (record ->> '$.secret_sha256') VIRTUAL,
  approval_id TEXT AS (record ->> '$.approval_id') VIRTUAL,
  expires_at INTEGER AS (record ->> '$.expires_at') VIRTUAL
);
CREATE UNIQUE INDEX IF NOT EXISTS approval_links_secret ON approval_links (secret_sha256);
CREATE INDEX IF NOT EXISTS approval_links_approval ON approval_links (approval_id);
CREATE INDEX IF NOT EXISTS approval_links_expires ON approval_links (expires_at);
`,
  // 031: A start looks for worktrees whose cleanup a crash has cut off.
  `
CREATE INDEX IF NOT EXISTS worktrees_cleanup_due ON worktrees (n) WHERE record ->> '$.cleanup_due_at' IS NOT NULL;
`,
  // 032: One table of the reasons why a session starts no turn of its inbox. The tables before it are made again where
  // they are gone, so that the step may run twice. A start ends every wait for an agent, so only the pauses without an
  // end are kept.
  `
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
`,
  // 033: The goal of each session that was set last. The id of a row is the id of its session.
  `
CREATE TABLE IF NOT EXISTS goals (
  n INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  record TEXT NOT NULL,
  sum INTEGER NOT NULL,
  status TEXT AS (record ->> '$.status') VIRTUAL,
  ends_by INTEGER AS (record ->> '$.ends_by') VIRTUAL
);
CREATE INDEX IF NOT EXISTS goals_status ON goals (status, n);
`,
  // 036: Deltas are found by their session or process, and settled items by the events that closed them. An index is
  // one more page that each piece of text writes, and a table of settled items is one more row of each item.
  `
DROP INDEX IF EXISTS deltas_kind;
DROP INDEX IF EXISTS deltas_item;
DROP TABLE IF EXISTS settled_items;
`,
  // 037: The conversations of agents that sessions continue, and the turns that ran in the agents' own programs. The
  // id of an import is the id of its session. `conversation` is null once the session is closed.
  `
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
`,
  // 038: Races: the same prompt in several sessions.
  `
CREATE TABLE IF NOT EXISTS races (
  n INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  record TEXT NOT NULL,
  sum INTEGER NOT NULL,
  name TEXT AS (record ->> '$.name') VIRTUAL,
  status TEXT AS (record ->> '$.status') VIRTUAL
);
CREATE UNIQUE INDEX IF NOT EXISTS races_name ON races (name);
CREATE INDEX IF NOT EXISTS races_status ON races (status, n);
`,
  // 039: The watch of each session that was started last. The id of a row is the id of its session.
  `
CREATE TABLE IF NOT EXISTS watches (
  n INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  record TEXT NOT NULL,
  sum INTEGER NOT NULL,
  status TEXT AS (record ->> '$.status') VIRTUAL,
  next_at INTEGER AS (record ->> '$.next_at') VIRTUAL
);
CREATE INDEX IF NOT EXISTS watches_status ON watches (status, next_at);
`,
  // 040: For a server that continues running turns: how far the output of each agent is handled, and the messages that its
  // input may not have taken.
  `
CREATE TABLE IF NOT EXISTS agent_readers (
  session_id TEXT PRIMARY KEY,
  record TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS agent_outgoing (
  session_id TEXT NOT NULL,
  n INTEGER NOT NULL,
  line TEXT NOT NULL,
  PRIMARY KEY (session_id, n)
) WITHOUT ROWID;
`,
];

/** Worktrees of before files were copied into them and they had ports. */
function withIncludedAndPorts(worktree: Record<string, unknown>): Record<string, unknown> {
  return {
    ...worktree,
    included: {
      status: 'off',
      files: 0,
      bytes: 0,
      skipped: 0,
      sha256: null,
      how_to_allow: null,
    },
    port_base: null,
    port_count: 0,
  };
}
