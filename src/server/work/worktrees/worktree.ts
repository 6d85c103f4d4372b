import { createHash } from 'node:crypto';
import path from 'node:path';
import type { WorktreeInEvents } from '../../../api/event-kinds/worktrees.ts';
import type { BodyOf } from '../../../api/endpoint.ts';
import type { Claim, createWorktree, Worktree } from '../../../api/worktrees.ts';
import { AppError, conflictError } from '../../../api/errors.ts';
import { shortNameList } from '../../../core/lib/short-name-list.ts';
import { ForeignFileError } from '../../../core/lib/foreign-file.ts';
import { isAboutFile } from '../../../core/lib/system-error.ts';
import { toText } from '../git/git.ts';
import { GitFailure } from '../git/git-failure.ts';

const DEFAULT_PREFIX = 'cadre';

export type WorktreeRequest = BodyOf<typeof createWorktree> & {
  /** The commit that the worktree starts from, if `base_ref` may have moved since. */
  base_commit?: string;
};

interface WorktreeFacts {
  id: string;
  root: string;
  repoRoot: string;
  baseRef: string;
  baseCommit: string;
  policy: Worktree['deletion_policy'];
  now: number;
}

export function newWorktree(request: WorktreeRequest, facts: WorktreeFacts): Worktree {
  const { worktree_name, source_session_id } = request;
  return {
    id: facts.id,
    worktree_name,
    repo_root: facts.repoRoot,
    path: pathFor(facts.root, facts.repoRoot, worktree_name),
    branch: branchFor(request),
    base_ref: facts.baseRef,
    base_commit: facts.baseCommit,
    deletion_policy: request.deletion_policy ?? facts.policy,
    status: 'active',
    source_session_id,
    team_id: request.team_id ?? null,
    operation_id: request.operation_id ?? null,
    init_script: { ...unused, exit_code: null, output_tail: '' },
    included: { ...unused, files: 0, bytes: 0, skipped: 0 },
    port_base: null,
    port_count: 0,
    archive_ref: null,
    created_at: facts.now,
    updated_at: facts.now,
  };
}

/** Content of a repository that is not used. */
const unused = { status: 'off', sha256: null, how_to_allow: null } as const;

export function branchFor({ branch_prefix, worktree_name }: WorktreeRequest): string {
  return `${branch_prefix ?? DEFAULT_PREFIX}/${worktree_name}`;
}

/** Returns the path of a worktree, with a digest of the repository's path, because names are not unique. */
export function pathFor(root: string, repoRoot: string, name: string): string {
  const digest = createHash('sha256').update(repoRoot).digest('hex').slice(0, 8);
  const readable = path.basename(repoRoot, '.git').replaceAll(/[^A-Za-z0-9._-]/g, '-') || 'repo';
  return path.join(root, `${readable.slice(0, 100)}-${digest}`, name);
}

/** Returns the worktree under another name, with the path and branch that follow from it. */
export function renamed(worktree: Worktree, name: string, root: string): Worktree {
  const prefix = worktree.branch.slice(0, worktree.branch.lastIndexOf('/'));
  return {
    ...worktree,
    worktree_name: name,
    path: pathFor(root, worktree.repo_root, name),
    branch: `${prefix}/${name}`,
  };
}

/** Throws `conflict` if an existing worktree differs from the request. */
export function assertMatches(worktree: Worktree, request: WorktreeRequest): void {
  const { base_ref, branch_prefix, deletion_policy } = request;
  const differs =
    (base_ref && base_ref !== worktree.base_ref && `base_ref ${worktree.base_ref}`) ||
    (branch_prefix && branchFor(request) !== worktree.branch && `branch ${worktree.branch}`) ||
    (deletion_policy &&
      deletion_policy !== worktree.deletion_policy &&
      `deletion_policy ${worktree.deletion_policy}`);
  if (!differs) return;
  throw conflictError(
    `worktree ${worktree.worktree_name} already exists with another setting (${differs}): leave out this setting, or choose another name`,
  );
}

/** Whether the files of a worktree exist, as far as cadre knows. */
export function isUsable({ status }: Pick<Worktree, 'status'>): boolean {
  return status === 'active' || status === 'retained';
}

/** Throws `conflict` for a worktree that is missing or cleaned. */
export function assertThere({ id, status }: Worktree): void {
  if (isUsable({ status })) return;
  throw conflictError(
    `cannot use worktree ${id}, which is ${status}: restore the worktree, or create another worktree`,
  );
}

/** Returns the session's claim, or a new one. Throws `claim_conflict` for an existing one in another role. */
export function claimedBy(
  sessionId: string,
  role: Claim['claim_role'],
  { worktree, held, now }: { worktree: Worktree; held: Claim | undefined; now: number },
): Claim {
  if (!held || held.released_at !== null)
    return {
      worktree_id: worktree.id,
      session_id: sessionId,
      claim_role: role,
      created_at: now,
      released_at: null,
    };
  if (held.claim_role === role) return held;
  throw new AppError(
    'claim_conflict',
    `session ${sessionId} already has a claim on worktree ${worktree.id} as ${held.claim_role}: release that claim first`,
  );
}

/** Returns the worktree as events after `worktree.created` carry it: without the fields that never change. */
export function worktreeInEvents({
  init_script: _initScript,
  included: _included,
  ...rest
}: Worktree): WorktreeInEvents {
  return rest;
}

/** Says why a worktree with repositories inside cannot be removed. */
export function nestedMessage(inner: readonly string[]): string {
  return `the worktree contains repositories with unsaved work, which an archive cannot hold (${shortNameList(inner.map(toText))}): push or move them`;
}

/** Names the ignored files that were deleted with a worktree and are in no archive. */
export function ignoredMessage(ignored: readonly string[]): string {
  return `ignored files are not archived: ${shortNameList(ignored.map(toText))}`;
}

/** Returns the message of an error of git, the system or cadre itself; null for a bug. */
export function reasonOf(error: unknown): string | null {
  const isKnown =
    error instanceof GitFailure || error instanceof AppError || error instanceof ForeignFileError;
  return isKnown || isAboutFile(error) ? (error as Error).message : null;
}

/** Says that a worktree is not registered with git, as after its repository was removed and made again. */
export function unknownToGit(directory: string): string {
  return `the worktree ${directory} is not registered with git: run git worktree repair`;
}
