/** The sessions that agents have spawned, each with the root session of its family. */
export const migration010 = `
CREATE TABLE spawned_sessions (
  session_id TEXT PRIMARY KEY,
  root_id TEXT NOT NULL
) WITHOUT ROWID;
CREATE INDEX spawned_sessions_root ON spawned_sessions (root_id, session_id);
`;
