/** API tokens. A record holds the digest of its secret, never the secret. */
export const migration003 = `
CREATE TABLE tokens (
  n INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  record TEXT NOT NULL,
  sum INTEGER NOT NULL
);
`;
