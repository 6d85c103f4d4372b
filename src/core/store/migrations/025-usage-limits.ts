/** The usage limits that agents have reported of their accounts. */
export const migration025 = `
CREATE TABLE IF NOT EXISTS usage_limits (
  provider TEXT NOT NULL,
  -- The name of the agent, where those of the provider have names; else empty.
  agent TEXT NOT NULL,
  message TEXT NOT NULL,
  since INTEGER NOT NULL,
  -- NULL: it is not known when the limit resets.
  until INTEGER,
  PRIMARY KEY (provider, agent)
) WITHOUT ROWID;
`;
