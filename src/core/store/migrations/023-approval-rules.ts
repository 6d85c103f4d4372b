/** The rules that decide approvals. */
export const migration023 = `
CREATE TABLE IF NOT EXISTS approval_rules (
  n INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  record TEXT NOT NULL,
  sum INTEGER NOT NULL
);
`;
