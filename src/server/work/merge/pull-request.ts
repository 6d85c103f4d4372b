import type { BodyOf } from '../../../api/endpoint.ts';
import type {
  openPullRequest as pullRequestEndpoint,
  PullRequest,
} from '../../../api/worktree-merge.ts';
import type { Worktree } from '../../../api/worktrees.ts';
import { cleanEnvironment } from '../../../core/children/environment.ts';
import { conflictError, invalidError } from '../../../api/errors.ts';
import { findProgram } from '../../../core/lib/find-program.ts';
import type { SaveResponse } from '../../../core/store/idempotency-store.ts';
import { openIsolatedGitDir, ownSettings } from '../git/isolated-git-dir.ts';
import type { Git } from '../git/git.ts';
import { GitFailure } from '../git/git-failure.ts';
import { commitOf, type Repository, repositoryOf } from '../git/repository.ts';
import type { WorktreeDependencies } from '../worktrees/dependencies.ts';
import { endOf } from '../worktrees/init-script.ts';
import { assertThere } from '../worktrees/worktree.ts';
import { commitsBeyond, subjectOf } from './commits.ts';
import { filesOf, viewOf, type Without } from './plan.ts';
import { hooksOf, readMergeSource, type MergeSource, refuse } from './source.ts';

type Request = BodyOf<typeof pullRequestEndpoint>;
type PullRequestPlan = Without<PullRequest, 'worktree'>;
type Dependencies = Pick<
  WorktreeDependencies,
  'db' | 'store' | 'gitContext' | 'clock' | 'supervisor' | 'stopping'
>;

/** Opens a pull request for a worktree, or shows the effect. The caller holds the mutex of the worktree's name. */
export async function openPullRequest(
  deps: Dependencies,
  worktree: Worktree,
  request: Request,
  saveResponse?: SaveResponse,
): Promise<PullRequest> {
  const { db, store, gitContext, clock } = deps;
  assertThere(worktree);
  const repository = await repositoryOf(gitContext.git, worktree);
  const source = await readMergeSource(gitContext, worktree, repository, { isCommitted: false });
  return gitContext.withScratch(worktree, async (scratch) => {
    // No setting of the repository applies, so none of them runs a program.
    const opened = await openIsolatedGitDir(repository, { scratch, settings: [] });
    const isolated = opened.isolated.with({ mayConnect: true });
    const { shown, address } = await planPullRequest(source, request, isolated);
    if (request.dry_run !== false) return db.transact(() => ({ worktree, ...shown }), saveResponse);
    refuse(shown.obstacles);
    if (!shown.pushed) await push(isolated, address, shown);
    const url = await createPullRequest(deps, address, shown, scratch);
    return db.transact((tx) => {
      const { target: into, source_commit: commit } = shown;
      const payload = { into, commit, pushed: !shown.pushed, url };
      const event = { kind: 'worktree.pull_request_opened', payload } as const;
      const now = store.recordMerge(tx, worktree.id, event, clock.now());
      return { ...shown, outcome: 'done' as const, pushed: true, url, worktree: now };
    }, saveResponse);
  });
}

/** Returns the effect, and the address of the remote as git has it, which may contain a password. */
async function planPullRequest(
  source: MergeSource,
  request: Request,
  isolated: Git,
): Promise<{ shown: PullRequestPlan; address: string }> {
  const { worktree, repository, tip, obstacles } = source;
  const { remote = null, push: mayPush = false, draft = false } = request;
  const name = remote ?? 'origin';
  const into = branchName(request.into ?? worktree.base_ref, name);
  const address = await addressOf(repository, name);
  const from = await baseOf(source, name, into);
  const range = await commitsBeyond(repository, { from, to: tip });
  const changes = await filesOf(repository, from, tip);
  const { branch } = worktree;
  const remote_url = withoutPassword(address);
  // An agent may have written the address: nothing connects to it before a person has seen it.
  const isShown = request.dry_run === false;
  if (isShown) refuseOther({ source_commit: tip, remote_url }, request);
  const pushed =
    (isShown
      ? await tipThere(isolated, address, branch)
      : await commitOf(repository.git, `refs/remotes/${name}/${branch}`)) === tip;
  if (findGh() === null) obstacles.push(NO_GH);
  if (range.commit_count === 0) obstacles.push(`the worktree has no commits beyond ${into}`);
  if (!pushed && mayPush !== true)
    obstacles.push(
      `${branch} of ${name} is not at ${tip.slice(0, 8)}: push the branch, or request a push`,
    );
  const hooks = await hooksOf(repository, await ownSettings(repository), ['pre-push']);
  const [only] = range.read;
  const subjects = range.read.toReversed().map((one) => `* ${subjectOf(one)}`);
  const ownTitle = range.commit_count === 1 && only ? subjectOf(only) : worktree.worktree_name;
  const shown: PullRequestPlan = {
    outcome: 'planned',
    source_commit: tip,
    target: into,
    target_commit: from,
    commits: range.commits,
    commit_count: range.commit_count,
    ...viewOf(source, changes),
    obstacles,
    notes: hooks.length > 0 && !pushed ? [NO_PRE_PUSH] : [],
    remote: name,
    remote_url,
    branch,
    pushed,
    title: request.title ?? ownTitle,
    body: request.body ?? subjects.join('\n'),
    draft: draft === true,
    url: null,
  };
  return { shown, address };
}

const NO_PRE_PUSH =
  'the pre-push hook of the repository does not run: upload its files yourself, such as files of Git LFS';

async function addressOf({ git }: Repository, remote: string): Promise<string> {
  const url = await git.maybe(['remote', 'get-url', '--push', '--', remote]);
  if (url !== null && url !== '') return url.split('\n')[0] ?? '';
  throw invalidError(
    `the repository has no remote "${remote}": set remote to a remote of the repository`,
  );
}

/** Returns the commit that the pull request begins at, as far as the repository knows. */
async function baseOf(
  { worktree, repository: { git }, tip }: MergeSource,
  remote: string,
  into: string,
): Promise<string> {
  for (const ref of [`refs/remotes/${remote}/${into}`, `refs/heads/${into}`]) {
    const there = await commitOf(git, ref);
    const base = there && (await git.maybe(['merge-base', there, tip]));
    if (base) return base.split('\n')[0] ?? base;
  }
  return worktree.base_commit;
}

async function tipThere(isolated: Git, address: string, branch: string): Promise<string | null> {
  const args = ['ls-remote', '--', address, `refs/heads/${branch}`];
  const listed = await connect(isolated, args, address);
  return /^([0-9a-f]{40,64})\t/.exec(listed)?.[1] ?? null;
}

async function push(
  isolated: Git,
  address: string,
  { source_commit: commit, branch }: PullRequestPlan,
): Promise<void> {
  const what = ['push', '--porcelain', '--no-verify', '--no-recurse-submodules'];
  if (isHere(address)) what.push(`--receive-pack=${RECEIVE_HERE}`);
  await connect(isolated, [...what, '--', address, `${commit}:refs/heads/${branch}`], address);
}

/** Runs a command that connects to a remote; its failure becomes a `conflict`, without the password of the address. */
async function connect(isolated: Git, args: string[], address: string): Promise<string> {
  try {
    return await isolated.text(args);
  } catch (error) {
    if (!(error instanceof GitFailure)) throw error;
    const rejected = /^!\t\S+\t(.*)$/m.exec(error.output)?.[1];
    const why = (rejected ?? error.message).replaceAll(address, withoutPassword(address));
    throw conflictError(`${withoutPassword(address)}: ${why}`);
  }
}

/**
 * The program that receives a push to a repository on this machine. It runs no hook and no command of that repository,
 * which may belong to another user.
 */
const RECEIVE_HERE =
  'git -c core.hooksPath=/dev/null -c core.alternateRefsCommand=true -c receive.denyCurrentBranch=refuse -c receive.autogc=false receive-pack';

/** Whether git takes an address for a path of this machine: no scheme, and no host before a colon. */
function isHere(address: string): boolean {
  return address.startsWith('file://') || /^[^:/]*(\/|$)/.test(address);
}

/** Throws `conflict` if branch or remote are not what was shown before. */
function refuseOther(
  { source_commit, remote_url }: Pick<PullRequestPlan, 'source_commit' | 'remote_url'>,
  request: Request,
): void {
  const { expected_commit: commit = null, expected_url: url = null } = request;
  if ((commit === null || commit === source_commit) && (url === null || url === remote_url)) return;
  throw conflictError(
    'the branch or the remote has changed since the preview: request the preview again',
  );
}

/** Returns the name of a branch at a remote, whose own name may stand before it. */
function branchName(ref: string, remote: string): string {
  const name = ref.replace(/^refs\/(heads\/|remotes\/)/, '');
  return name.startsWith(`${remote}/`) ? name.slice(remote.length + 1) : name;
}

const LIMIT_MS = 2 * 60_000;
/** The maximum output of `gh` that is read, in characters. */
const OUTPUT_CHARS = 64 * 1024;

const NO_GH =
  'gh, the GitHub command line, is not installed on the machine of the server: install it, and log in with gh auth login';

function findGh(): string | null {
  return findProgram('gh', process.env.PATH);
}

/**
 * Opens a pull request with `gh`, with the login of the user who runs the server. It runs in an empty directory and gets
 * the repository as an argument, so no configuration of a repository is read. Returns the URL. Throws `conflict` with the
 * message of `gh` if it fails, or takes longer than two minutes.
 */
async function createPullRequest(
  { supervisor, clock, stopping: signal }: Dependencies,
  address: string,
  { branch, target, title, body, draft }: PullRequestPlan,
  scratch: string,
): Promise<string> {
  const what = ['pr', 'create', '--repo', nameOf(address), '--head', branch, '--base', target];
  const child = await supervisor.start({
    command: findGh() ?? 'gh',
    args: [...what, '--title', title, '--body', body, ...(draft ? ['--draft'] : [])],
    cwd: scratch,
    env: {
      ...cleanEnvironment(process.env, new Set()),
      GH_PROMPT_DISABLED: '1',
      GH_NO_UPDATE_NOTIFIER: '1',
      NO_COLOR: '1',
    },
    what: `gh pr create for ${branch}`,
    stdin: 'none',
  });
  const [printed, problems] = [textOf(child.stdout), textOf(child.stderr)];
  const { code, isLate } = await endOf(child, { clock, signal, limitMs: LIMIT_MS });
  const found = /^https?:\/\/\S+$/m.exec(printed().trim())?.[0];
  if (code === 0 && found !== undefined) return found;
  const why = problems().trim().split('\n').slice(-5).join('\n');
  const how = isLate ? `it exceeded ${LIMIT_MS / 60_000} minutes` : `exit code ${code}`;
  throw conflictError(`gh did not create a pull request: ${why || how}`);
}

/** Returns the name of a repository as `gh` takes it: HOST/OWNER/NAME; what looks otherwise is left as it is. */
export function nameOf(address: string): string {
  const found =
    /^(?:[a-z+]+:\/\/)?(?:[^@/]*@)?([^/:]+)(?::\d+)?[:/]+([^/]+\/[^/]+?)(?:\.git)?\/?$/i.exec(
      address,
    );
  return found ? `${found[1]}/${found[2]}` : address;
}

/** Leaves out what a URL has before "@": it may be a password. */
export function withoutPassword(url: string): string {
  return url.replace(/^([a-z+]+:\/\/)[^@/]*@/i, '$1');
}

/** Collects the end of an output. */
function textOf(stream: NodeJS.ReadableStream): () => string {
  let text = '';
  stream.setEncoding('utf8').on('data', (chunk: string) => {
    text = (text + chunk).slice(-OUTPUT_CHARS);
  });
  return () => text;
}
