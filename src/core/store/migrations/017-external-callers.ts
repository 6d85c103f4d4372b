/** Processes of before: none was started by an external caller. */
export const migration017 = {
  table: 'processes',
  complete: (process: Record<string, unknown>) => ({ caller_id: null, ...process }),
};

/** The processes of one external caller, newest first. */
export const migration017Index = `
CREATE INDEX IF NOT EXISTS processes_caller ON processes (record ->> '$.caller_id', n);
`;

/** Tokens of before: their use was not noted, and none had a permission mode. */
export const migration017Tokens = {
  table: 'tokens',
  complete: (token: Record<string, unknown>) => ({
    permission_mode: null,
    last_used_at: null,
    ...token,
  }),
};
