/** The one inbox of everything that waits to become a turn; teams, and the messages between their members. */
export const migration007 = `
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
`;
