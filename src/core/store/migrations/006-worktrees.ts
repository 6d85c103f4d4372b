/** Worktrees, their claims, and the operations that a crash may have interrupted. */
export const migration006 = `
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
`;
