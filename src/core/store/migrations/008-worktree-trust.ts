/** The executable content of repositories that a person has allowed, by its digest. */
export const migration008 = `
CREATE TABLE worktree_trust (
  n INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  record TEXT NOT NULL,
  sum INTEGER NOT NULL,
  repo_root TEXT AS (record ->> '$.repo_root') VIRTUAL
);
CREATE INDEX worktree_trust_repository ON worktree_trust (repo_root, n);
`;
