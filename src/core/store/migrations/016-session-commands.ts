/** The slash commands of sessions' agents, as JSON, as each agent told them last. */
export const migration016 = `
CREATE TABLE IF NOT EXISTS session_commands (
  session_id TEXT PRIMARY KEY,
  commands TEXT NOT NULL
);
`;
