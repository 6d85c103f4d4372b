import { z } from 'zod';
import { pageQuery, timestamp } from './common.ts';
import { endpoint } from './endpoint.ts';

const worktreeStatus = z.enum(['active', 'retained', 'cleaned', 'missing']);
export const deletionPolicy = z
  .enum(['delete_on_last_claim', 'retain_on_last_claim', 'delete_if_clean'])
  .meta({ id: 'DeletionPolicy', description: 'When a worktree is removed.' });
const claimRole = z
  .enum(['owner', 'consumer'])
  .meta({ id: 'ClaimRole', description: 'The role of a session that claims a worktree.' });

const initScript = z.looseObject({
  status: z
    .enum(['completed', 'not_found', 'off', 'skipped_untrusted'])
    .describe(
      'not_found: the repository has no init script. skipped_untrusted: its content is not allowed. If the script fails, no worktree is created.',
    ),
  exit_code: z.int().nullable(),
  output_tail: z.string(),
  sha256: z
    .string()
    .nullish()
    .describe('The digest of the script as it is committed in the main worktree, if there is one.'),
  how_to_allow: z.string().nullish().describe('How to allow a script that was skipped.'),
});

const included = z.looseObject({
  status: z
    .enum(['completed', 'not_found', 'off', 'skipped_untrusted'])
    .describe(
      'not_found: the repository has no .worktreeinclude, or no main worktree. skipped_untrusted: its content is not allowed. If a file cannot be copied, no worktree is created.',
    ),
  files: z.int().describe('How many files were copied.'),
  bytes: z.int().describe('Their size together.'),
  skipped: z
    .int()
    .describe(
      'How many more files match and were left out: symbolic links, files that the checkout has or does not ignore, and names that are not UTF-8.',
    ),
  sha256: z
    .string()
    .nullable()
    .describe('The digest of .worktreeinclude as it is committed in the main worktree.'),
  how_to_allow: z.string().nullable().describe('How to allow a list that was skipped.'),
});

export const worktree = z
  .looseObject({
    id: z.string(),
    worktree_name: z.string(),
    repo_root: z.string(),
    path: z.string(),
    branch: z.string(),
    base_ref: z.string(),
    base_commit: z.string(),
    deletion_policy: deletionPolicy,
    status: worktreeStatus.describe(
      'active: it has claims. retained: it has none. cleaned: the server removed its path and branch. missing: its path was removed by somebody else.',
    ),
    source_session_id: z.string(),
    team_id: z.string().nullable(),
    operation_id: z.string().nullable(),
    init_script: initScript,
    included: included.describe(
      'What was copied into it when it was made: ignored files of the main worktree that .worktreeinclude names.',
    ),
    port_base: z
      .int()
      .nullable()
      .describe(
        'The first of the ports that belong to it while it exists; null: none was free when it was made. Programs in it have it as CADRE_PORT_BASE.',
      ),
    port_count: z.int().describe('How many ports that are; 0: none.'),
    archive_ref: z
      .string()
      .nullable()
      .describe(
        'The ref in its repository that keeps the work that was in it when it was last cleaned.',
      ),
    cleanup_due_at: timestamp
      .nullish()
      .describe(
        'When its last claim was released, while the cleanup after that has not ended. Null or absent if no cleanup is due.',
      ),
    created_at: timestamp,
    updated_at: timestamp,
  })
  .meta({ id: 'Worktree', description: 'A git worktree that the server made.' });
export type Worktree = z.output<typeof worktree>;

export const claim = z
  .looseObject({
    worktree_id: z.string(),
    session_id: z.string(),
    claim_role: claimRole,
    created_at: timestamp,
    released_at: timestamp.nullable(),
  })
  .meta({ id: 'Claim', description: 'The claim of a session to a worktree, held or released.' });
export type Claim = z.output<typeof claim>;

const cleanupResult = z
  .looseObject({
    worktree,
    status: z.enum(['cleaned', 'retained_by_policy', 'skipped_active_claims', 'failed']),
    deleted_path: z.boolean(),
    deleted_branch: z.boolean(),
    archive_ref: z.string().nullable(),
    active_claims: z.int(),
    diagnostics: z
      .array(z.string())
      .describe('The reasons, and what was deleted without being archived.'),
  })
  .meta({ id: 'WorktreeCleanup', description: 'The outcome of the cleanup of a worktree.' });
export type CleanupResult = z.output<typeof cleanupResult>;

const worktreeParam = { worktree_id: z.string().describe('The worktree.') };

/** A name of a branch, ref or commit. It cannot begin with "-", so that git does not take it for an option. */
export const gitReference = z
  .string()
  .min(1)
  .max(500)
  .regex(/^[^-\p{Cc}][^\p{Cc}]*$/u, 'may not begin with "-", and has no control characters');

export const worktreeName = z
  .string()
  .regex(
    /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/,
    'is 1 to 64 letters, digits, ".", "_" and "-", of which the first is a letter or digit',
  );

/** How a worktree is made, and what becomes of it: fields of every request that may make one. */
export const worktreeSettings = {
  branch_prefix: gitReference
    .nullish()
    .describe('The prefix of its branch, which is PREFIX/NAME. Default: cadre.'),
  base_ref: gitReference
    .nullish()
    .describe('The commit or branch to start from; absent: what is checked out.'),
  deletion_policy: deletionPolicy.nullish().describe('Default: worktrees.deletion_policy_default.'),
  run_init_script: z
    .boolean()
    .nullish()
    .describe(
      'true: run it even if its content is not allowed. Absent: run it if its content is allowed.',
    ),
  copy_included: z
    .boolean()
    .nullish()
    .describe(
      'Whether the ignored files that .worktreeinclude names are copied. true: even if its content is not allowed. Absent: if it is allowed.',
    ),
};

/** The worktree of a new session. */
export const sessionWorktree = z
  .strictObject({
    worktree_name: worktreeName
      .nullish()
      .describe(
        'Its name; a worktree of that name is used again. Absent: a new one is named after the id of the session.',
      ),
    repo_root: z
      .string()
      .min(1)
      .nullish()
      .describe('A directory of the repository, relative to cwd; absent: cwd.'),
    ...worktreeSettings,
  })
  .meta({ id: 'SessionWorktree', description: 'The worktree of a new session.' });

export const createWorktree = endpoint({
  method: 'POST',
  path: '/v1/worktrees',
  summary: 'Create a worktree for a session, or claim the existing one of that name',
  body: z.strictObject({
    source_session_id: z
      .string()
      .describe('The session that owns it: it gets a claim with the role "owner".'),
    repo_root: z
      .string()
      .min(1)
      .nullish()
      .describe("A directory of the repository; absent: the session's."),
    worktree_name: worktreeName,
    ...worktreeSettings,
    team_id: z.string().min(1).max(200).nullish(),
    operation_id: z.string().min(1).max(200).nullish(),
  }),
  response: worktree.extend({
    claim: claim.describe('The claim of the source session.'),
    created: z.boolean().describe('false: it existed already.'),
  }),
  errors: ['not_found', 'conflict', 'session_closed', 'session_failed', 'storage_full'],
});

export const listWorktrees = endpoint({
  method: 'GET',
  path: '/v1/worktrees',
  summary: 'List worktrees, newest first',
  query: {
    repo_root: z.string().optional().describe('Only of this repository.'),
    team_id: z.string().optional().describe('Only of this team.'),
    status: worktreeStatus.optional().describe('Only worktrees with this status.'),
    ...pageQuery,
  },
  response: z.array(worktree),
});

export const getWorktree = endpoint({
  method: 'GET',
  path: '/v1/worktrees/{worktree_id}',
  summary: 'Read a worktree, with its claims',
  params: worktreeParam,
  response: worktree.extend({
    claims: z.array(claim).describe('At most one for each session, including released ones.'),
  }),
  errors: ['not_found'],
});

export const claimWorktree = endpoint({
  method: 'POST',
  path: '/v1/worktrees/{worktree_id}/claims',
  summary: 'Claim a worktree for a session; a claimed worktree is not removed',
  params: worktreeParam,
  body: z.strictObject({
    session_id: z.string(),
    claim_role: claimRole.nullish().describe('Default: consumer.'),
  }),
  response: claim,
  errors: ['not_found', 'conflict', 'claim_conflict', 'session_closed', 'session_failed'],
});

export const releaseWorktree = endpoint({
  method: 'POST',
  path: '/v1/worktrees/{worktree_id}/release',
  summary: 'Release the claim of a session; after the last one the worktree may be removed',
  params: worktreeParam,
  body: z.strictObject({
    session_id: z.string(),
    cleanup_if_last_claim: z.boolean().nullish().describe('Default: true.'),
  }),
  response: z.looseObject({
    worktree,
    claim,
    active_claims: z.int(),
    cleanup: cleanupResult
      .nullable()
      .describe('null: no cleanup was asked for, or claims are left.'),
  }),
  errors: ['not_found'],
});

export const cleanUpWorktree = endpoint({
  method: 'POST',
  path: '/v1/worktrees/{worktree_id}/cleanup',
  summary: 'Remove the path and branch of a worktree without claims; work in it is archived first',
  params: worktreeParam,
  body: z.strictObject({ reason: z.string().max(1000).nullish() }),
  response: cleanupResult,
  errors: ['not_found'],
});

export const restoreWorktree = endpoint({
  method: 'POST',
  path: '/v1/worktrees/{worktree_id}/restore',
  summary: 'Restore an archived worktree: its branch, its commits and its uncommitted changes',
  params: worktreeParam,
  body: z.strictObject({
    name: worktreeName.nullish().describe('Another name, if its own is in use.'),
  }),
  response: worktree,
  errors: ['not_found', 'conflict', 'storage_full'],
});

export const collectWorktrees = endpoint({
  method: 'POST',
  path: '/v1/worktrees/gc',
  summary: 'Clean up all worktrees without claims, or list them',
  body: z.strictObject({
    dry_run: z.boolean().nullish().describe('Default: true, which lists them and removes nothing.'),
  }),
  response: z.looseObject({
    worktrees: z.array(
      z
        .looseObject({
          id: z.string(),
          status: worktreeStatus.describe('Its status afterwards.'),
          bytes: z.int().describe('The size of its path on disk.'),
          reason: z.string(),
        })
        .meta({
          id: 'CollectedWorktree',
          description: 'The outcome for a worktree without claims.',
        }),
    ),
  }),
});

export const worktreeDiagnostics = z
  .looseObject({
    active: z.int(),
    retained: z.int(),
    cleaned: z.int(),
    missing: z.int(),
    active_claims: z.int(),
    under_way: z
      .int()
      .describe(
        'Creations, removals and restorations that are running or were cut off by a crash.',
      ),
  })
  .meta({ id: 'WorktreeDiagnostics', description: 'How many worktrees there are, by status.' });
export type WorktreeDiagnostics = z.output<typeof worktreeDiagnostics>;

export const getWorktreeDiagnostics = endpoint({
  method: 'GET',
  path: '/v1/diagnostics/worktrees',
  summary: 'How many worktrees there are, by status, and how many claims',
  response: worktreeDiagnostics,
});
