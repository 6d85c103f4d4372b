import { z } from 'zod';
import {
  component,
  flag,
  integer,
  nullableText,
  nullableTime,
  optionalText,
  pageQuery,
  text,
  timestamp,
} from './common.ts';
import { endpoint } from './endpoint.ts';

const worktreeStatus = z.enum(['active', 'retained', 'cleaned', 'missing']);
export const deletionPolicy = z
  .enum(['delete_on_last_claim', 'retain_on_last_claim', 'delete_if_clean'])
  .meta({
    id: 'DeletionPolicy',
    description:
      'Policy that decides whether a worktree is removed after its last claim was released.',
  });
const claimRole = z
  .enum(['owner', 'consumer'])
  .meta({ id: 'ClaimRole', description: 'Role of a session that claims a worktree.' });

const initScript = z.looseObject({
  status: z.enum(['completed', 'not_found', 'off', 'skipped_untrusted']).meta({
    description:
      'Result of the init script. `not_found`: the repository has no init script. `skipped_untrusted`: its content is not trusted. If the script fails, no worktree is created.',
  }),
  exit_code: z.int().nullable().describe('Exit code of the script. Null if it did not run.'),
  output_tail: text('End of the output of the script.'),
  sha256: optionalText(
    'SHA-256 digest of the script that is committed in the main worktree. Null or absent if the repository has no script.',
  ),
  how_to_allow: optionalText(
    'Instructions to trust a script that was skipped. Null or absent if it was not skipped.',
  ),
});

const included = z.looseObject({
  status: z.enum(['completed', 'not_found', 'off', 'skipped_untrusted']).meta({
    description:
      'Result of the copy. `not_found`: the repository has no .worktreeinclude, or no main worktree. `skipped_untrusted`: its content is not trusted. If a file cannot be copied, no worktree is created.',
  }),
  files: z.int().describe('Number of copied files.'),
  bytes: z.int().describe('Total size of the copied files in bytes.'),
  skipped: z.int().meta({
    description:
      'Number of matching files that were not copied. These are symbolic links, files that exist in the checkout or are not ignored there, and names that are not UTF-8.',
  }),
  sha256: nullableText(
    'SHA-256 digest of the .worktreeinclude that is committed in the main worktree. Null if no .worktreeinclude is committed.',
  ),
  how_to_allow: nullableText(
    'Instructions to allow a list that was skipped. Null if it was not skipped.',
  ),
});

export const worktree = component('Worktree', 'A git worktree that the server created.', {
  id: z.string(),
  worktree_name: text('Name of the worktree, unique in its repository.'),
  repo_root: text('Root directory of the repository.'),
  path: text('Directory of the worktree.'),
  branch: text('Branch that was created for the worktree.'),
  base_ref: text('Commit or branch that the worktree started from, as requested.'),
  base_commit: text('Id of the commit that the worktree started from.'),
  deletion_policy: deletionPolicy,
  status: worktreeStatus.describe(
    'Status of the worktree. `active`: sessions claim the worktree. `retained`: no session claims the worktree. `cleaned`: the server removed the directory and the branch. `missing`: someone else removed the directory.',
  ),
  source_session_id: text('Session that created the worktree.'),
  team_id: nullableText('Team id that the client sent when the worktree was created.'),
  operation_id: nullableText('Operation id that the client sent when the worktree was created.'),
  init_script: initScript.describe('Run of the init script when the worktree was created.'),
  included: included.describe(
    'Files copied when the worktree was created: the ignored files of the main worktree that .worktreeinclude names.',
  ),
  port_base: z.int().nullable().meta({
    description:
      'First port reserved for the worktree while it exists. Programs in the worktree get it as CADRE_PORT_BASE. Null if no port was free when the worktree was created.',
  }),
  port_count: z.int().describe('Number of reserved ports. 0 if there are none.'),
  archive_ref: nullableText(
    'Git ref that holds the work that the worktree contained when it was last cleaned. Null if no work was kept.',
  ),
  cleanup_due_at: timestamp.nullish().meta({
    description:
      'Time at which the last claim was released (Unix ms), until the cleanup that follows has ended. Null or absent if no cleanup is due.',
  }),
  created_at: timestamp,
  updated_at: timestamp,
});
export type Worktree = z.output<typeof worktree>;

export const claim = component('Claim', 'A claim of a session on a worktree, held or released.', {
  worktree_id: z.string(),
  session_id: z.string(),
  claim_role: claimRole,
  created_at: timestamp,
  released_at: nullableTime('Time of the release (Unix ms). Null while the claim is held.'),
});
export type Claim = z.output<typeof claim>;

export const cleanupResult = component(
  'WorktreeCleanup',
  'The result of the cleanup of a worktree.',
  {
    worktree,
    status: z.enum(['cleaned', 'retained_by_policy', 'skipped_active_claims', 'failed']).meta({
      description:
        'Result. `cleaned`: the worktree was removed. `retained_by_policy`: it remains because of its deletion policy. `skipped_active_claims`: it remains because sessions claim it. `failed`: it could not be removed.',
    }),
    deleted_path: flag('Whether the directory was removed.'),
    deleted_branch: flag('Whether the branch was removed.'),
    archive_ref: nullableText(
      'Git ref that holds the work that the worktree contained. Null if no work was kept.',
    ),
    active_claims: integer('Number of claims that are held.'),
    diagnostics: z
      .array(z.string())
      .describe('Reasons for the result, and content that was deleted without being archived.'),
  },
);
export type CleanupResult = z.output<typeof cleanupResult>;

export const worktreeParam = { worktree_id: text('Worktree id.') };

/** A name of a branch, ref or commit. It must not start with "-", so that git does not read it as an option. */
export const gitReference = z
  .string()
  .min(1)
  .max(500)
  .regex(/^[^-\p{Cc}][^\p{Cc}]*$/u, 'must not start with "-" or contain control characters');

export const worktreeName = z
  .string()
  .regex(
    /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/,
    'must have 1 to 64 letters, digits, ".", "_" and "-", and start with a letter or digit',
  );

/** The settings for creating and removing a worktree, in every request that may create one. */
export const worktreeSettings = {
  branch_prefix: gitReference
    .nullish()
    .describe('Prefix of the branch name, which is PREFIX/NAME. Default: `cadre`.'),
  base_ref: gitReference
    .nullish()
    .describe('Commit or branch to start from. Default: the commit that is checked out.'),
  deletion_policy: deletionPolicy.nullish().meta({
    description:
      'Policy that decides whether the worktree is removed after its last claim was released. Default: `worktrees.deletion_policy_default`.',
  }),
  run_init_script: z.boolean().nullish().meta({
    description:
      'Whether to run the init script. `true` runs it even if its content is not trusted. Default: run it if its content is trusted.',
  }),
  copy_included: z.boolean().nullish().meta({
    description:
      'Whether to copy the ignored files that .worktreeinclude names. `true` copies them even if its content is not trusted. Default: copy them if its content is trusted.',
  }),
};

export const sessionWorktree = z
  .strictObject({
    worktree_name: worktreeName.nullish().meta({
      description:
        'Name of the worktree. An existing worktree with this name is used again. Default: a new worktree named after the session id.',
    }),
    repo_root: z.string().min(1).nullish().meta({
      description: 'Directory in the repository, relative to cwd. Default: cwd.',
    }),
    ...worktreeSettings,
  })
  .meta({ id: 'SessionWorktree', description: 'The worktree of a new session.' });

export const createWorktree = endpoint('POST /v1/worktrees', {
  summary: 'Create a worktree for a session, or claim the existing one with that name',
  body: z.strictObject({
    source_session_id: text(
      'Session that owns the worktree. It gets a claim with the role "owner".',
    ),
    repo_root: z.string().min(1).nullish().meta({
      description: 'Directory in the repository. Default: the working directory of the session.',
    }),
    worktree_name: worktreeName,
    ...worktreeSettings,
    team_id: z.string().min(1).max(200).nullish().meta({
      description: 'Id of a team, which is only stored.',
    }),
    operation_id: z.string().min(1).max(200).nullish().meta({
      description: 'Id of an operation of the client, which is only stored.',
    }),
  }),
  response: worktree.extend({
    claim: claim.describe('Claim of the source session.'),
    created: z.boolean().describe('Whether the worktree was created. False if it existed already.'),
  }),
  errors: [
    'not_found',
    'conflict',
    'session_closed',
    'session_failed',
    'sandbox_unavailable',
    'storage_full',
  ],
});

export const listWorktrees = endpoint('GET /v1/worktrees', {
  summary: 'List worktrees, newest first',
  query: {
    repo_root: z.string().optional().describe('Return only worktrees of this repository.'),
    team_id: z.string().optional().describe('Return only worktrees of this team.'),
    status: worktreeStatus.optional().describe('Return only worktrees with this status.'),
    ...pageQuery,
  },
  response: z.array(worktree),
});

export const getWorktree = endpoint('GET /v1/worktrees/{worktree_id}', {
  summary: 'Get a worktree and its claims',
  params: worktreeParam,
  response: worktree.extend({
    claims: z.array(claim).describe('Claims, including released ones. At most one per session.'),
  }),
});

export const claimWorktree = endpoint('POST /v1/worktrees/{worktree_id}/claims', {
  summary: 'Claim a worktree for a session; a claimed worktree is not removed',
  params: worktreeParam,
  body: z.strictObject({
    session_id: z.string(),
    claim_role: claimRole.nullish().describe('Role of the claim. Default: `consumer`.'),
  }),
  response: claim,
  errors: ['conflict', 'claim_conflict', 'session_closed', 'session_failed'],
});

export const releaseWorktree = endpoint('POST /v1/worktrees/{worktree_id}/release', {
  summary: 'Release the claim of a session; after the last release the worktree may be removed',
  params: worktreeParam,
  body: z.strictObject({
    session_id: z.string(),
    cleanup_if_last_claim: z.boolean().nullish().meta({
      description: 'Whether to clean up the worktree if this was its last claim. Default: true.',
    }),
  }),
  response: z.looseObject({
    worktree,
    claim,
    active_claims: integer('Number of claims that are held.'),
    cleanup: cleanupResult
      .nullable()
      .describe('Result of the cleanup. Null if no cleanup was requested or other claims remain.'),
  }),
});

export const cleanUpWorktree = endpoint('POST /v1/worktrees/{worktree_id}/cleanup', {
  summary: 'Remove the path and branch of a worktree without claims, after archiving its work',
  params: worktreeParam,
  body: z.strictObject({ reason: z.string().max(1000).nullish() }),
  response: cleanupResult,
});

export const restoreWorktree = endpoint('POST /v1/worktrees/{worktree_id}/restore', {
  summary: 'Restore an archived worktree with its branch, commits and uncommitted changes',
  params: worktreeParam,
  body: z.strictObject({
    name: worktreeName.nullish().describe('New name, if the original name is in use.'),
  }),
  response: worktree,
  errors: ['conflict', 'storage_full'],
});

export const collectWorktrees = endpoint('POST /v1/worktrees/gc', {
  summary: 'List or clean up all worktrees without claims',
  body: z.strictObject({
    dry_run: z.boolean().nullish().meta({
      description: 'Whether to list the worktrees without removing them. Default: true.',
    }),
  }),
  response: z.looseObject({
    worktrees: z.array(
      component('CollectedWorktree', 'The result for a worktree without claims.', {
        id: z.string(),
        status: worktreeStatus.describe('Status after the request.'),
        bytes: z.int().describe('Size of the worktree on disk, in bytes.'),
        reason: text('Reason why the worktree is removed or remains.'),
      }),
    ),
  }),
});

export const worktreeDiagnostics = component(
  'WorktreeDiagnostics',
  'Number of worktrees by status.',
  {
    active: z.int(),
    retained: z.int(),
    cleaned: z.int(),
    missing: z.int(),
    active_claims: z.int(),
    under_way: z.int().meta({
      description:
        'Number of creations, removals and restorations that are in progress or were interrupted by a crash.',
    }),
  },
);
export type WorktreeDiagnostics = z.output<typeof worktreeDiagnostics>;

export const getWorktreeDiagnostics = endpoint('GET /v1/diagnostics/worktrees', {
  summary: 'Get the number of worktrees by status, and the number of claims',
  response: worktreeDiagnostics,
});
