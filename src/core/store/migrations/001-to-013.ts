/** The first migrations, in order. They are released: none is ever edited. */
export const firstMigrations = [
  // 001: The parts of the schema that cannot be changed later: the one sequence, the log with a separate table for deltas, and
  // the records.
  //
  // - A record or event is stored as the JSON text that goes over the wire, with a checksum; the columns that queries
  //   need of a record are generated, so they cannot contradict it.
  // - Deltas share the sequence but have a table of their own: they leave the log once their item is settled.
  `
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
`,
  // 002: Approvals, with the run that has their agent; stored answers for repeated requests.
  `
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
`,
  // 003: API tokens. A record holds the digest of its secret, never the secret.
  `
CREATE TABLE tokens (
  n INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  record TEXT NOT NULL,
  sum INTEGER NOT NULL
);
`,
  // 004: Retention: which data of closed sessions it has not deleted yet. The indexes of events by kind are dropped,
  // because no query uses them and each append has to update them.
  `
ALTER TABLE sessions ADD COLUMN trimmed INTEGER AS (record ->> '$.trimmed') VIRTUAL;
ALTER TABLE sessions ADD COLUMN closed_at INTEGER AS (record ->> '$.closed_at') VIRTUAL;
CREATE INDEX sessions_trimmable ON sessions (closed_at) WHERE status = 'closed' AND trimmed IS NOT 1;

ALTER TABLE turns ADD COLUMN trimmed INTEGER AS (record ->> '$.trimmed') VIRTUAL;
CREATE INDEX turns_trimmable ON turns (session_id, n) WHERE trimmed IS NOT 1;

ALTER TABLE items ADD COLUMN session_id TEXT AS (record ->> '$.session_id') VIRTUAL;
CREATE INDEX items_aside ON items (session_id, n) WHERE turn_id IS NULL;

DROP INDEX events_kind;
DROP INDEX deltas_kind;
`,
  // 005: Processes, and the notices of their end that their owners have not received yet.
  `
CREATE TABLE processes (
  n INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  record TEXT NOT NULL,
  sum INTEGER NOT NULL,
  session_id TEXT AS (record ->> '$.session_id') VIRTUAL,
  status TEXT AS (record ->> '$.status') VIRTUAL,
  trimmed INTEGER AS (record ->> '$.trimmed') VIRTUAL,
  ended_at INTEGER AS (record ->> '$.ended_at') VIRTUAL
);
CREATE INDEX processes_session ON processes (session_id, n);
CREATE INDEX processes_status ON processes (status, n);
CREATE INDEX processes_alive ON processes (session_id, n) WHERE status IN ('queued', 'running');
CREATE INDEX processes_trimmable ON processes (ended_at)
  WHERE status NOT IN ('queued', 'running') AND trimmed IS NOT 1;

CREATE TABLE process_notices (
  n INTEGER PRIMARY KEY,
  session_id TEXT NOT NULL,
  process_id TEXT NOT NULL,
  text TEXT NOT NULL
);
CREATE INDEX process_notices_session ON process_notices (session_id, n);
`,
  // 006: Worktrees, their claims, and the operations that a crash may have interrupted.
  `
CREATE TABLE worktrees (
  n INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  record TEXT NOT NULL,
  sum INTEGER NOT NULL,
  repo_root TEXT AS (record ->> '$.repo_root') VIRTUAL,
  worktree_name TEXT AS (record ->> '$.worktree_name') VIRTUAL,
  team_id TEXT AS (record ->> '$.team_id') VIRTUAL,
  status TEXT AS (record ->> '$.status') VIRTUAL
);
CREATE INDEX worktrees_name ON worktrees (repo_root, worktree_name, n);
CREATE INDEX worktrees_team ON worktrees (team_id, n);
CREATE INDEX worktrees_status ON worktrees (status, n);

CREATE TABLE worktree_claims (
  n INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  record TEXT NOT NULL,
  sum INTEGER NOT NULL,
  worktree_id TEXT AS (record ->> '$.worktree_id') VIRTUAL,
  session_id TEXT AS (record ->> '$.session_id') VIRTUAL,
  released_at INTEGER AS (record ->> '$.released_at') VIRTUAL
);
CREATE INDEX worktree_claims_worktree ON worktree_claims (worktree_id, n);
CREATE INDEX worktree_claims_active ON worktree_claims (n) WHERE released_at IS NULL;
CREATE INDEX worktree_claims_session ON worktree_claims (session_id, n) WHERE released_at IS NULL;

-- What git is doing: written before, deleted with the last step.
CREATE TABLE worktree_operations (
  n INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  record TEXT NOT NULL,
  sum INTEGER NOT NULL
);
`,
  // 007: The one inbox of everything that waits to become a turn; teams, and the messages between their members.
  `
-- An entry waits, or is part of a turn (turn_id) that has not ended. What its owner keeps nowhere else is its text.
CREATE TABLE inbox (
  n INTEGER PRIMARY KEY,
  session_id TEXT NOT NULL,
  owner TEXT NOT NULL,
  ref TEXT NOT NULL,
  rank INTEGER NOT NULL,
  held INTEGER NOT NULL,
  interrupts INTEGER NOT NULL,
  turn_id TEXT,
  text TEXT
);
CREATE UNIQUE INDEX inbox_ref ON inbox (owner, ref);
CREATE INDEX inbox_waiting ON inbox (session_id, held, rank, n) WHERE turn_id IS NULL;
CREATE INDEX inbox_turn ON inbox (turn_id, rank, n) WHERE turn_id IS NOT NULL;

-- Sessions whose inbox is left alone for now: up to a time, or (null) until somebody speaks to them.
CREATE TABLE inbox_pauses (
  session_id TEXT PRIMARY KEY,
  failures INTEGER NOT NULL,
  until INTEGER
) WITHOUT ROWID;

INSERT INTO inbox_pauses (session_id, failures, until)
  SELECT id, 0, NULL FROM sessions
  WHERE id IN (SELECT session_id FROM process_notices)
  AND (SELECT turns.record ->> '$.interrupt_requested_at' FROM turns
    WHERE turns.id = sessions.record ->> '$.last_turn_id') IS NOT NULL;
INSERT INTO inbox (session_id, owner, ref, rank, held, interrupts, turn_id, text)
  SELECT session_id, 'process', process_id, 1, 0, 0, NULL, text FROM process_notices ORDER BY n;
DROP TABLE process_notices;

CREATE TABLE teams (
  n INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  record TEXT NOT NULL,
  sum INTEGER NOT NULL
);

CREATE TABLE team_members (
  n INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  record TEXT NOT NULL,
  sum INTEGER NOT NULL,
  team_id TEXT AS (record ->> '$.team_id') VIRTUAL,
  agent_id TEXT AS (record ->> '$.agent_id') VIRTUAL
);
CREATE INDEX team_members_team ON team_members (team_id, n);
CREATE INDEX team_members_agent ON team_members (agent_id, n);

CREATE TABLE team_messages (
  n INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  record TEXT NOT NULL,
  sum INTEGER NOT NULL,
  team_id TEXT AS (record ->> '$.team_id') VIRTUAL,
  sender_agent_id TEXT AS (record ->> '$.sender_agent_id') VIRTUAL
);
CREATE INDEX team_messages_team ON team_messages (team_id, n);
CREATE INDEX team_messages_sender ON team_messages (team_id, sender_agent_id, n);

CREATE TABLE team_deliveries (
  n INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  record TEXT NOT NULL,
  sum INTEGER NOT NULL,
  team_id TEXT AS (record ->> '$.team_id') VIRTUAL,
  message_id TEXT AS (record ->> '$.message_id') VIRTUAL,
  recipient_agent_id TEXT AS (record ->> '$.recipient_agent_id') VIRTUAL,
  status TEXT AS (record ->> '$.status') VIRTUAL
);
CREATE INDEX team_deliveries_team ON team_deliveries (team_id, n);
CREATE INDEX team_deliveries_message ON team_deliveries (message_id, n);
CREATE INDEX team_deliveries_recipient ON team_deliveries (team_id, recipient_agent_id, n);
CREATE INDEX team_deliveries_waiting ON team_deliveries (team_id, n)
  WHERE status IN ('pending', 'deferred');
CREATE INDEX team_deliveries_status ON team_deliveries (status);

-- How many messages agents have sent in a team since a person last spoke to one of them.
CREATE TABLE team_hops (team_id TEXT PRIMARY KEY, hops INTEGER NOT NULL) WITHOUT ROWID;

-- Members that are being spawned: written before, deleted with the last step.
CREATE TABLE team_spawns (
  n INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  record TEXT NOT NULL,
  sum INTEGER NOT NULL
);

-- The newest turn that says how full the context of its session is.
CREATE INDEX turns_context ON turns (session_id, n)
  WHERE record ->> '$.usage.context_tokens' IS NOT NULL
  AND record ->> '$.usage.context_window' IS NOT NULL;
`,
  // 008: The executable content of repositories that a person has allowed, by its digest.
  `
CREATE TABLE worktree_trust (
  n INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  record TEXT NOT NULL,
  sum INTEGER NOT NULL,
  repo_root TEXT AS (record ->> '$.repo_root') VIRTUAL
);
CREATE INDEX worktree_trust_repository ON worktree_trust (repo_root, n);
`,
  // 010: The sessions that agents have spawned, each with the root session of its family.
  `
CREATE TABLE spawned_sessions (
  session_id TEXT PRIMARY KEY,
  root_id TEXT NOT NULL
) WITHOUT ROWID;
CREATE INDEX spawned_sessions_root ON spawned_sessions (root_id, session_id);
`,
  // 011: What people keep with a session, and what is new in it.
  {
    table: 'sessions',
    complete: (session: Record<string, unknown>) => ({
      pinned: false,
      snoozed_until: null,
      seen_seq: 0,
      // What happened before counts as seen, so that an upgrade does not present all of it as new.
      news_seq: 0,
      last_activity_at: session.updated_at,
      last_words: null,
      ...session,
    }),
  },
  // 012: Processes to which nothing can be written, as all of them were before.
  {
    table: 'processes',
    complete: (process: Record<string, unknown>) => ({ stdin: 'none', ...process }),
  },
  // 013: Approvals of which only the request says what they would do. Each could be accepted once. Commits before the
  // first release wrote these fields without a migration.
  {
    table: 'approvals',
    complete: (approval: Record<string, unknown>) => ({
      details: [],
      scopes: ['once'],
      session_allows: null,
      scope: approval.status === 'accepted' ? 'once' : null,
      ...approval,
    }),
  },
];
