/** How far each hook has come in the log, and the links that answer one approval each. */
export const migration030 = `
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
`;
