/**
 * The parts of the schema that cannot be changed later: the one sequence, the log with a separate table for deltas, and
 * the records.
 *
 * - A record or event is stored as the JSON text that goes over the wire, with a checksum; the columns that queries
 *   need of a record are generated, so they cannot contradict it.
 * - Deltas share the sequence but have a table of their own: they leave the log once their item is settled.
 */
export const migration001 = `
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;

CREATE TABLE sequence (id INTEGER PRIMARY KEY CHECK (id = 1), last_seq INTEGER NOT NULL);
INSERT INTO sequence (id, last_seq) VALUES (1, 0);

CREATE TABLE events (
  seq INTEGER PRIMARY KEY,
  kind TEXT NOT NULL,
  session_id TEXT,
  process_id TEXT,
  worktree_id TEXT,
  team_id TEXT,
  created_at INTEGER NOT NULL,
  record TEXT NOT NULL,
  sum INTEGER NOT NULL
);
CREATE INDEX events_kind ON events (kind, seq);
CREATE INDEX events_session ON events (session_id, seq) WHERE session_id IS NOT NULL;
CREATE INDEX events_process ON events (process_id, seq) WHERE process_id IS NOT NULL;
CREATE INDEX events_worktree ON events (worktree_id, seq) WHERE worktree_id IS NOT NULL;
CREATE INDEX events_team ON events (team_id, seq) WHERE team_id IS NOT NULL;

CREATE TABLE deltas (
  seq INTEGER PRIMARY KEY,
  kind TEXT NOT NULL,
  session_id TEXT,
  process_id TEXT,
  worktree_id TEXT,
  team_id TEXT,
  created_at INTEGER NOT NULL,
  record TEXT NOT NULL,
  sum INTEGER NOT NULL,
  item_id TEXT
);
CREATE INDEX deltas_kind ON deltas (kind, seq);
CREATE INDEX deltas_session ON deltas (session_id, seq) WHERE session_id IS NOT NULL;
CREATE INDEX deltas_process ON deltas (process_id, seq) WHERE process_id IS NOT NULL;
CREATE INDEX deltas_worktree ON deltas (worktree_id, seq) WHERE worktree_id IS NOT NULL;
CREATE INDEX deltas_team ON deltas (team_id, seq) WHERE team_id IS NOT NULL;
CREATE INDEX deltas_item ON deltas (item_id, seq) WHERE item_id IS NOT NULL;

-- Items that are settled and whose deltas may go, oldest first.
CREATE TABLE settled_items (n INTEGER PRIMARY KEY, item_id TEXT NOT NULL, settled_at INTEGER NOT NULL);

-- The highest seq that retention took from a scope ('' is the whole runtime).
CREATE TABLE trimmed (scope TEXT PRIMARY KEY, seq INTEGER NOT NULL) WITHOUT ROWID;

CREATE TABLE sessions (
  n INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  record TEXT NOT NULL,
  sum INTEGER NOT NULL,
  status TEXT AS (record ->> '$.status') VIRTUAL,
  provider TEXT AS (record ->> '$.provider') VIRTUAL,
  active_turn_id TEXT AS (record ->> '$.active_turn_id') VIRTUAL
);
CREATE INDEX sessions_status ON sessions (status, n);
CREATE INDEX sessions_provider ON sessions (provider, n);
CREATE INDEX sessions_active ON sessions (n) WHERE active_turn_id IS NOT NULL;

CREATE TABLE turns (
  n INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  record TEXT NOT NULL,
  sum INTEGER NOT NULL,
  session_id TEXT AS (record ->> '$.session_id') VIRTUAL,
  status TEXT AS (record ->> '$.status') VIRTUAL
);
CREATE INDEX turns_session ON turns (session_id, n);
CREATE INDEX turns_unfinished ON turns (status, n) WHERE status IN ('accepted', 'running', 'waiting_for_approval');

CREATE TABLE items (
  n INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  record TEXT NOT NULL,
  sum INTEGER NOT NULL,
  turn_id TEXT AS (record ->> '$.turn_id') VIRTUAL,
  status TEXT AS (record ->> '$.status') VIRTUAL
);
CREATE INDEX items_turn ON items (turn_id, n);
CREATE INDEX items_open ON items (turn_id, n) WHERE status = 'open';

-- One row a start of the server: its marker finds what it left behind.
CREATE TABLE runs (
  n INTEGER PRIMARY KEY,
  marker TEXT NOT NULL,
  boot_id TEXT NOT NULL,
  durability TEXT NOT NULL,
  started_at INTEGER NOT NULL,
  ended_at INTEGER,
  swept_at INTEGER
);
CREATE INDEX runs_unswept ON runs (n) WHERE swept_at IS NULL;

-- The children that are alive, or were when the server died.
CREATE TABLE children (
  pid INTEGER PRIMARY KEY,
  started_ticks INTEGER NOT NULL,
  boot_id TEXT NOT NULL,
  marker TEXT NOT NULL,
  what TEXT NOT NULL,
  created_at INTEGER NOT NULL
);
`;
