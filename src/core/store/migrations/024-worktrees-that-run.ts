/** Programs ask for the worktree that holds their directory. */
const path = `
CREATE INDEX IF NOT EXISTS worktrees_path ON worktrees (record ->> '$.path');
`;

/** Worktrees of before files were copied into them and they had ports. */
const complete = (worktree: Record<string, unknown>) => ({
  ...worktree,
  included: {
    status: 'off',
    files: 0,
    bytes: 0,
    skipped: 0,
    sha256: null,
    how_to_allow: null,
  },
  port_base: null,
  port_count: 0,
});

/** Completes worktrees, and the operations on worktrees that a crash has cut off. */
export const migration024 = {
  path,
  worktrees: { table: 'worktrees', complete },
  operations: {
    table: 'worktree_operations',
    complete: (operation: Record<string, unknown>) => ({
      ...operation,
      worktree: complete(operation.worktree as Record<string, unknown>),
    }),
  },
};
