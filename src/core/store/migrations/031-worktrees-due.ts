/** A start looks for worktrees whose cleanup a crash has cut off. */
export const migration031 = `
CREATE INDEX IF NOT EXISTS worktrees_cleanup_due ON worktrees (n) WHERE record ->> '$.cleanup_due_at' IS NOT NULL;
`;
