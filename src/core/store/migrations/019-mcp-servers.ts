/**
 * The MCP servers that clients gave to the agents of sessions. They hold secrets, so they are no part of the records that
 * answers and events show.
 */
export const migration019 = `
CREATE TABLE IF NOT EXISTS session_mcp_servers (
  n INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  record TEXT NOT NULL,
  sum INTEGER NOT NULL
);
`;
