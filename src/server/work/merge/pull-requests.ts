import type { BodyOf } from '../../../api/endpoint.ts';
import type { openPullRequest, PullRequest } from '../../../api/worktree-merge.ts';
import type { Worktree } from '../../../api/worktrees.ts';
import type { Supervisor } from '../../../core/children/supervisor.ts';
import { AppError } from '../../../api/errors.ts';
import type { SaveResponse } from '../../../core/store/idempotency-store.ts';
import { openIsolatedGitDir, ownSettings } from '../git/isolated-git-dir.ts';
import { GitFailure, type GitLocation } from '../git/git.ts';
import { commitOf, refsOf, type Repository } from '../git/repository.ts';
import { assertThere } from '../worktrees/worktree.ts';
import { subjectOf } from './commits.ts';
import type { MergeServiceDependencies } from './service.ts';
import { createPullRequest, findGh, NO_GH, withoutPassword } from './github.ts';
import { refuse } from './merge-plan.ts';
import { differencesOf } from './moves.ts';
import { uncommittedOf } from './plan.ts';
import { commitsBeyond, filesBetween, hooksOf } from './merge-view.ts';
import { lookAt, repositoryOf, type MergeSource } from './merge-source.ts';

type Request = BodyOf<typeof openPullRequest>;

/** An answer without the record of the worktree. */
type MergePlanView = {
  [
    K in keyof PullRequest as string extends K ? never : K extends 'worktree' ? never : K
  ]: PullRequest[K];
};

interface Dependencies extends MergeServiceDependencies {
  supervisor: Supervisor;
  stopping: AbortSignal;
}

/** Opens pull requests for worktrees. The caller holds the mutex of the worktree's name. */
export class PullRequests {
  readonly #deps: Dependencies;

  constructor(deps: Dependencies) {
    this.#deps = deps;
  }

  async open(
    worktree: Worktree,
    request: Request,
    saveResponse: SaveResponse,
  ): Promise<PullRequest> {
    const { db, store, gitContext, clock } = this.#deps;
    assertThere(worktree);
    const repository = await repositoryOf(gitContext, worktree);
    const source = await lookAt(gitContext, worktree, repository, { isCommitted: false });
    return gitContext.withScratch(worktree, async (scratch) => {
      const isolated = await this.#openIsolated(repository, scratch);
      const { shown, address } = await this.#plan(source, request, isolated);
      if (request.dry_run !== false) {
        const answer = { worktree, ...shown };
        await db.transact((tx) => saveResponse(tx, answer));
        return answer;
      }
      refuse(shown.obstacles);
      const { source_commit: commit, branch, target: into } = shown;
      if (!shown.pushed) await this.#push(isolated, { address, commit, branch });
      const { title, body, draft } = shown;
      const { supervisor, stopping: signal } = this.#deps;
      const proposal = { address, branch, into, title, body, draft };
      const opened = await createPullRequest(proposal, { supervisor, clock, scratch, signal });
      return db.transact((tx) => {
        const payload = { into, commit, pushed: !shown.pushed, url: opened };
        const told = { kind: 'worktree.pull_request_opened', payload } as const;
        const now = store.recordMerge(tx, worktree.id, told, clock.now());
        const answer = { ...shown, outcome: 'done' as const, pushed: true, url: opened };
        saveResponse(tx, { ...answer, worktree: now });
        return { ...answer, worktree: now };
      });
    });
  }

  /** Returns what would happen, and where the remote is as git has it, which may hold a password. */
  async #plan(
    source: MergeSource,
    request: Request,
    isolated: GitLocation,
  ): Promise<{ shown: MergePlanView; address: string }> {
    const { git } = this.#deps.gitContext;
    const { worktree, repository, tip, obstacles } = source;
    const { remote = null, push = false, draft = false } = request;
    const name = remote ?? 'origin';
    const into = branchName(request.into ?? worktree.base_ref, name);
    const address = await this.#addressOf(repository, name);
    const from = await this.#baseOf(source, name, into);
    const range = await commitsBeyond(git, repository, { from, to: tip });
    const differences = await differencesOf(git, repository, from, tip);
    const { branch } = worktree;
    const remote_url = withoutPassword(address);
    // An agent may have written the address: nothing connects to it before a person has seen it.
    const isShown = request.dry_run === false;
    if (isShown) refuseOther({ source_commit: tip, remote_url }, request);
    const pushed =
      (isShown
        ? await this.#tipThere(isolated, address, branch)
        : await commitOf(git, refsOf(repository), `refs/remotes/${name}/${branch}`)) === tip;
    if (findGh() === null) obstacles.push(NO_GH);
    if (range.commit_count === 0) obstacles.push(`the worktree has no commits beyond ${into}`);
    if (!pushed && push !== true)
      obstacles.push(
        `${branch} of ${name} is not at ${tip.slice(0, 8)}: push the branch, or request a push`,
      );
    const hooks = await hooksOf(repository, await ownSettings(git, repository, null), ['pre-push']);
    const [only] = range.read;
    const subjects = range.read.toReversed().map((one) => `* ${subjectOf(one)}`);
    const shown: MergePlanView = {
      outcome: 'planned',
      source_commit: tip,
      target: into,
      target_commit: from,
      commits: range.commits,
      commit_count: range.commit_count,
      ...(await filesBetween(git, repository, differences, { from, to: tip })),
      ...uncommittedOf(source),
      obstacles,
      notes:
        hooks.length > 0 && !pushed
          ? [
              'the pre-push hook of the repository does not run: upload its files yourself, such as files of Git LFS',
            ]
          : [],
      remote: name,
      remote_url,
      branch,
      pushed,
      title:
        request.title ??
        (range.commit_count === 1 && only ? subjectOf(only) : worktree.worktree_name),
      body: request.body ?? subjects.join('\n'),
      draft: draft === true,
      url: null,
    };
    return { shown, address };
  }

  /** Opens a git directory without settings of the repository, so that none of them runs a program. */
  async #openIsolated(repository: Repository, scratch: string): Promise<GitLocation> {
    const about = { repository, adminDir: null, files: null, head: null, scratch, settings: [] };
    return { ...(await openIsolatedGitDir(about)), mayConnect: true };
  }

  async #addressOf(repository: Repository, remote: string): Promise<string> {
    const args = ['remote', 'get-url', '--push', '--', remote];
    const url = await this.#deps.gitContext.git.maybe(refsOf(repository), args);
    if (url !== null && url !== '') return url.split('\n')[0] ?? '';
    throw new AppError(
      'invalid',
      `the repository has no remote "${remote}": set remote to a remote of the repository`,
    );
  }

  /** Returns the commit that the pull request begins at, as far as the repository knows. */
  async #baseOf({ worktree, repository, tip }: MergeSource, remote: string, into: string) {
    const { git } = this.#deps.gitContext;
    const location = refsOf(repository);
    for (const ref of [`refs/remotes/${remote}/${into}`, `refs/heads/${into}`]) {
      const there = await commitOf(git, location, ref);
      const base = there && (await git.maybe(location, ['merge-base', there, tip]));
      if (base) return base.split('\n')[0] ?? base;
    }
    return worktree.base_commit;
  }

  async #tipThere(isolated: GitLocation, address: string, branch: string): Promise<string | null> {
    const ref = `refs/heads/${branch}`;
    const listed = await this.#reach(isolated, ['ls-remote', '--', address, ref], address);
    return /^([0-9a-f]{40,64})\t/.exec(listed)?.[1] ?? null;
  }

  async #push(
    isolated: GitLocation,
    { address, commit, branch }: { address: string; commit: string; branch: string },
  ): Promise<void> {
    const what = ['push', '--porcelain', '--no-verify', '--no-recurse-submodules'];
    if (isHere(address)) what.push(`--receive-pack=${RECEIVE_HERE}`);
    await this.#reach(
      isolated,
      [...what, '--', address, `${commit}:refs/heads/${branch}`],
      address,
    );
  }

  async #reach(isolated: GitLocation, args: string[], address: string): Promise<string> {
    try {
      return await this.#deps.gitContext.git.text(isolated, args);
    } catch (error) {
      if (!(error instanceof GitFailure)) throw error;
      const rejected = /^!\t\S+\t(.*)$/m.exec(error.output)?.[1];
      const why = (rejected ?? error.message).replaceAll(address, withoutPassword(address));
      throw new AppError('conflict', `${withoutPassword(address)}: ${why}`);
    }
  }
}

/**
 * The program that takes what is pushed to a repository on this machine: it is one that somebody has put there, and runs
 * none of its hooks or commands.
 */
const RECEIVE_HERE =
  'git -c core.hooksPath=/dev/null -c core.alternateRefsCommand=true -c receive.denyCurrentBranch=refuse -c receive.autogc=false receive-pack';

/** Whether git takes an address for a path of this machine: no scheme, and no host before a colon. */
function isHere(address: string): boolean {
  return address.startsWith('file://') || /^[^:/]*(\/|$)/.test(address);
}

/** Throws `conflict` if branch or remote are not what was shown before. */
function refuseOther(
  { source_commit, remote_url }: Pick<MergePlanView, 'source_commit' | 'remote_url'>,
  request: Request,
): void {
  const { expected_commit: commit = null, expected_url: url = null } = request;
  if ((commit === null || commit === source_commit) && (url === null || url === remote_url)) return;
  throw new AppError(
    'conflict',
    'the branch or the remote has changed since the preview: request the preview again',
  );
}

/** Returns the name of a branch at a remote, whose own name may stand before it. */
function branchName(ref: string, remote: string): string {
  const name = ref.replace(/^refs\/(heads\/|remotes\/)/, '');
  return name.startsWith(`${remote}/`) ? name.slice(remote.length + 1) : name;
}
