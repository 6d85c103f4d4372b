import fs from 'node:fs';
import path from 'node:path';
import type { Worktree } from '../api/worktrees.ts';
import { AppError } from '../errors.ts';
import type { Failpoint } from '../lib/failpoint.ts';
import { OneAtATime } from '../lib/one-at-a-time.ts';
import {
  type Archived,
  archiveRef,
  fillFromArchive,
  readArchive,
  writeArchive,
} from './archive.ts';
import { type Git, GitFailure } from './git.ts';
import {
  adminDirectory,
  checkoutsOf,
  commitOf,
  knownRepository,
  refsOf,
  type Repository,
} from './repository.ts';
import {
  type Beside,
  holdsWork,
  type Snapshot,
  takeSnapshot,
  unsavedSubmodules,
} from './snapshot.ts';

/** Checkouts are mostly the disk's work, and more of them at once are no faster. */
const CHECKOUTS_AT_ONCE = 4;
/** Fills a worktree that was made without files; no ref moves. */
const CHECKOUT = ['read-tree', '-m', '-u', 'HEAD'];

/** What a removal took away. */
export interface Removed {
  path: boolean;
  branch: boolean;
  diagnostics: string[];
}

/**
 * What is done with files and git, without a row: every step of it may be the last before a crash, and be taken
 * again after it.
 */
export class Workshop {
  readonly git: Git;
  /** Where all worktrees are. */
  readonly root: string;
  /** Where only this server works. */
  readonly #scratch: string;
  readonly #failpoint: Failpoint;
  /** What reads or moves the refs of a repository is done one after the other, by its directory of refs. */
  readonly #repositories = new OneAtATime();
  /** Files are written beside that, so many worktrees at once. */
  readonly #checkouts = new OneAtATime();
  #checkoutCount = 0;

  constructor(given: { git: Git; root: string; scratch: string; failpoint: Failpoint }) {
    for (const directory of [given.root, given.scratch])
      fs.mkdirSync(directory, { recursive: true, mode: 0o700 });
    this.git = given.git;
    this.root = fs.realpathSync(given.root);
    this.#scratch = given.scratch;
    this.#failpoint = given.failpoint;
  }

  /** Throws `conflict` where a place or a branch is taken, `invalid` where the branch can have no such name. */
  async assertFree({ path: place, branch }: Worktree, repository: Repository): Promise<void> {
    const ref = `refs/heads/${branch}`;
    if ((await this.git.maybe(refsOf(repository), ['check-ref-format', ref])) === null)
      throw new AppError('invalid', `"${branch}" cannot be the name of a branch: take another`);
    if ((await commitOf(this.git, refsOf(repository), ref)) !== null)
      throw new AppError(
        'conflict',
        `there is a branch ${branch} already: take another worktree_name or branch_prefix`,
      );
    if (fs.lstatSync(place, { throwIfNoEntry: false }))
      throw new AppError('conflict', `${place} is there already: move it away`);
  }

  /**
   * Runs what reads or moves the refs of a repository: nothing else does that meanwhile. Do not call it, nor what says
   * that it waits for its turn, from within `work`.
   */
  alone<T>({ commonDir }: Repository, work: () => Promise<T>): Promise<T> {
    return this.#repositories.run(commonDir, work);
  }

  /** Makes branch and worktree, and fills it, in turns of its own. What fails leaves nothing. */
  async add(worktree: Worktree, repository: Repository): Promise<void> {
    await this.#orNothing(worktree, repository, worktree.base_commit, async () => {
      await this.alone(repository, () =>
        this.#register(worktree, repository, worktree.base_commit, [worktree.branch]),
      );
      this.#failpoint('worktree.added');
      await this.#beside(() => this.git.text({ directory: worktree.path }, CHECKOUT));
    });
  }

  /** Makes them again, with all that was archived, in turns of its own. */
  async restore(worktree: Worktree, repository: Repository): Promise<void> {
    const archived = await this.#archived(worktree, repository);
    const { head, headRef, tip } = archived;
    // Only one worktree can have a branch checked out: of others, it has the commit.
    const wasOnBranch = head === tip && headRef === archived.branchRef;
    const what = wasOnBranch ? [worktree.branch] : ['--detach', head];
    await this.#orNothing(worktree, repository, tip ?? head, async () => {
      await this.alone(repository, () => this.#register(worktree, repository, tip ?? head, what));
      this.#failpoint('worktree.added');
      await this.#beside(() => fillFromArchive(this.git, worktree.path, archived));
    });
  }

  /** Where the branch of a restored worktree will stand. Throws `conflict` where nothing was archived. */
  async restorable(worktree: Worktree, repository: Repository): Promise<string> {
    const { head, tip } = await this.#archived(worktree, repository);
    return tip ?? head;
  }

  async #archived(worktree: Worktree, repository: Repository): Promise<Archived> {
    const archived = await readArchive(this.git, repository, worktree.id);
    if (archived) return archived;
    throw new AppError(
      'conflict',
      `nothing of worktree ${worktree.id} was archived that it could be made of: create another`,
    );
  }

  async #orNothing(
    worktree: Worktree,
    repository: Repository,
    commit: string,
    add: () => Promise<void>,
  ): Promise<void> {
    try {
      await add();
    } catch (error) {
      await this.discard(worktree, repository, commit);
      throw error;
    }
  }

  /** Makes the branch, and a worktree without files that has it, or a commit, checked out. */
  async #register(
    { branch, path: place }: Worktree,
    repository: Repository,
    commit: string,
    what: readonly string[],
  ): Promise<void> {
    const none = '0'.repeat(commit.length);
    await this.git.text(refsOf(repository), ['update-ref', `refs/heads/${branch}`, commit, none]);
    const parent = path.dirname(place);
    fs.mkdirSync(parent, { recursive: true, mode: 0o700 });
    if (fs.realpathSync(parent) !== parent)
      throw new AppError('conflict', `${parent} leads elsewhere: move it away`);
    const flags = what.slice(0, -1);
    const args = ['--quiet', '--no-checkout', ...flags, '--', place, ...what.slice(-1)];
    await this.git.text(refsOf(repository), ['worktree', 'add', ...args]);
    if (fs.realpathSync(place) !== place)
      throw new AppError('conflict', `${place} leads elsewhere: move it away`);
  }

  /** Writes the files of a worktree, which moves no ref: some of that is done at once. */
  #beside<T>(work: () => Promise<T>): Promise<T> {
    this.#checkoutCount += 1;
    return this.#checkouts.run(String(this.#checkoutCount % CHECKOUTS_AT_ONCE), work);
  }

  /** Takes a half-made worktree away, in a turn of its own. Commits that its branch has beyond `expected` are archived. */
  async discard(
    worktree: Worktree,
    repository: Repository | null,
    expected: string,
  ): Promise<void> {
    await removeTree(worktree.path);
    if (repository === null) return;
    await this.alone(repository, async () => {
      await this.#forget(worktree, repository);
      const place = refsOf(repository);
      const tip = await commitOf(this.git, place, `refs/heads/${worktree.branch}`);
      if (tip === null) return;
      if (tip !== expected)
        await this.git.text(place, ['update-ref', archiveRef(worktree.id), tip]);
      await this.#deleteBranch(worktree, repository, tip);
    });
  }

  /** What keeps a worktree from being removed, whatever else it holds; null: nothing. */
  async obstacle({ path: place }: Worktree, repository: Repository): Promise<string | null> {
    if (!fs.existsSync(place)) return null;
    const adminDir = adminDirectory(repository, place);
    const lock = adminDir && path.join(adminDir, 'locked');
    if (lock && fs.existsSync(lock)) {
      const reason = fs.readFileSync(lock, 'utf8').trim();
      return `it is locked${reason ? ` (${reason})` : ''}: git worktree unlock ${place}`;
    }
    const link = fs.lstatSync(path.join(place, '.git'), { throwIfNoEntry: false });
    const pointsTo = link?.isFile()
      ? /^gitdir: (.+)$/m.exec(fs.readFileSync(path.join(place, '.git'), 'utf8'))?.[1]
      : undefined;
    const isOurs =
      pointsTo !== undefined &&
      path.dirname(path.resolve(place, pointsTo)) === path.join(repository.commonDir, 'worktrees');
    if (link && !isOurs)
      return `${place}/.git is another repository, which no archive can keep: move it away`;
    const unsaved = isOurs ? await unsavedSubmodules(this.git, place) : [];
    return unsaved.length > 0 ? saidOfInner(unsaved) : null;
  }

  /** All that a worktree holds, wherever its files are just now. */
  async look(
    worktree: Worktree,
    repository: Repository,
    beside: Beside,
    files: string = worktree.path,
  ): Promise<Snapshot> {
    const scratch = fs.mkdtempSync(path.join(this.#scratch, `${worktree.id}-`));
    try {
      return await takeSnapshot(
        this.git,
        {
          repository,
          branch: worktree.branch,
          beside,
          adminDir: adminDirectory(repository, worktree.path),
          files: fs.existsSync(files) ? files : null,
        },
        scratch,
      );
    } finally {
      fs.rmSync(scratch, { recursive: true, force: true });
    }
  }

  async archive(worktree: Worktree, repository: Repository, snapshot: Snapshot): Promise<void> {
    await writeArchive(this.git, repository, worktree, snapshot);
    this.#failpoint('worktree.archived');
  }

  /**
   * Removes a worktree of which all was archived. It is put aside first: who would write into it from then on finds
   * no path. What came in between is archived, too; then what lies aside gets a name that says so, and goes.
   */
  async remove(
    worktree: Worktree,
    repository: Repository,
    { tip, beside }: { tip: string | null; beside: Beside },
  ): Promise<Removed> {
    const aside = path.join(this.#removed, worktree.id);
    const removed: Removed = { path: false, branch: false, diagnostics: [] };
    const done = `${aside}.archived`;
    if (fs.existsSync(worktree.path)) {
      await removeTree(done);
      fs.renameSync(worktree.path, aside);
    }
    this.#failpoint('worktree.aside');
    let last = tip;
    if (!fs.existsSync(done)) {
      const snapshot = await this.#keepAll(worktree, repository, { aside, beside });
      if (snapshot.ignored.length > 0) removed.diagnostics.push(saidOfIgnored(snapshot.ignored));
      last = snapshot.tip;
      if (fs.existsSync(aside)) fs.renameSync(aside, done);
    }
    removed.path = fs.existsSync(done);
    await removeTree(done).catch((error: unknown) =>
      removed.diagnostics.push(
        `${done} could not be removed (${(error as Error).message}): the next start tries again`,
      ),
    );
    this.#failpoint('worktree.removed');
    await this.#forget(worktree, repository);
    const others = await checkoutsOf(this.git, repository, worktree.branch);
    if (others.length > 0)
      removed.diagnostics.push(
        `branch ${worktree.branch} stays: it is checked out in ${others[0]}`,
      );
    else if (last !== null) removed.branch = await this.#deleteBranch(worktree, repository, last);
    return removed;
  }

  /** Where the files of a worktree lie while it is being removed; null where they do not. */
  aside({ id }: Worktree): string | null {
    const aside = path.join(this.#removed, id);
    return [aside, `${aside}.archived`].find((place) => fs.existsSync(place)) ?? null;
  }

  /** Takes away what earlier runs were about to remove when they ended. */
  async sweep(): Promise<void> {
    for (const name of fs.readdirSync(this.#scratch))
      await removeTree(path.join(this.#scratch, name));
    for (const name of fs.readdirSync(this.#removed))
      if (name.endsWith('.archived')) await removeTree(path.join(this.#removed, name));
  }

  /** The archive that a worktree has in its repository. */
  async archiveOf({ id, repo_root }: Worktree): Promise<string | null> {
    const repository = await knownRepository(this.git, repo_root);
    if (!repository) return null;
    const commit = await commitOf(this.git, refsOf(repository), archiveRef(id));
    return commit === null ? null : archiveRef(id);
  }

  /**
   * Makes sure that all of what lies aside is archived, and of commits and index where nothing does; where that cannot
   * be, it goes back to its place.
   */
  async #keepAll(
    worktree: Worktree,
    repository: Repository,
    { aside, beside }: { aside: string; beside: Beside },
  ): Promise<Snapshot> {
    try {
      const snapshot = await this.look(worktree, repository, beside, aside);
      if (snapshot.nested.length > 0) throw new AppError('conflict', saidOfInner(snapshot.nested));
      if (holdsWork(snapshot) && !(await this.#isKept(worktree, repository, snapshot)))
        await this.archive(worktree, repository, snapshot);
      return snapshot;
    } catch (error) {
      if (fs.existsSync(aside)) fs.renameSync(aside, worktree.path);
      throw error;
    }
  }

  /** Whether the newest archive has all that a snapshot has. */
  async #isKept(
    worktree: Worktree,
    repository: Repository,
    { head, headRef, tip, staged, files }: Snapshot,
  ): Promise<boolean> {
    const kept = await readArchive(this.git, repository, worktree.id);
    if (kept?.tip !== tip) return false;
    // What an earlier try has removed and had git forget was looked at then.
    if (files === null && adminDirectory(repository, worktree.path) === null) return true;
    const isFiles = files === null || kept.files === files;
    return isFiles && kept.head === head && kept.headRef === headRef && kept.staged === staged;
  }

  /** Has git forget a worktree whose files are gone. */
  async #forget({ path: place }: Worktree, repository: Repository): Promise<void> {
    if (adminDirectory(repository, place) === null) return;
    const remove = ['worktree', 'remove', '--force', '--force', '--', place];
    await this.git.text(refsOf(repository), remove);
  }

  /** Deletes the branch where it still stands at `tip`. */
  async #deleteBranch({ branch }: Worktree, repository: Repository, tip: string): Promise<boolean> {
    const place = refsOf(repository);
    const remove = ['update-ref', '-d', `refs/heads/${branch}`, tip];
    if ((await this.git.maybe(place, remove)) === null) return false;
    await this.git.maybe(place, ['config', '--local', '--remove-section', `branch.${branch}`]);
    return true;
  }

  /** Where worktrees are put aside: on their own disk, since they are renamed. */
  get #removed(): string {
    const directory = path.join(this.root, '.removed');
    fs.mkdirSync(directory, { recursive: true, mode: 0o700 });
    return directory;
  }
}

export function saidOfInner(inner: readonly string[]): string {
  return `it holds repositories with work of their own, which no archive can keep (${some(inner)}): push or move it`;
}

function saidOfIgnored(ignored: readonly string[]): string {
  return `what git ignores is not archived: ${some(ignored)}`;
}

function some(names: readonly string[]): string {
  const shown = names.slice(0, 10).map((name) => Buffer.from(name, 'latin1').toString('utf8'));
  return shown.join(', ') + (names.length > 10 ? ` and ${names.length - 10} more` : '');
}

/** Removes a directory with all that is in it, also where somebody took away the right to write there. */
async function removeTree(directory: string): Promise<void> {
  const remove = () => fs.promises.rm(directory, { recursive: true, force: true, maxRetries: 2 });
  try {
    await remove();
  } catch (error) {
    if (!['EACCES', 'EPERM'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error;
    await openUp(directory);
    await remove();
  }
}

async function openUp(directory: string): Promise<void> {
  await fs.promises.chmod(directory, 0o700);
  for (const entry of await fs.promises.readdir(directory, { withFileTypes: true }))
    if (entry.isDirectory()) await openUp(path.join(directory, entry.name));
}

/** What the system or git said, or we; null for what is a bug. */
export function reasonOf(error: unknown): string | null {
  const isKnown = error instanceof GitFailure || error instanceof AppError;
  return isKnown || (error as NodeJS.ErrnoException).syscall !== undefined
    ? (error as Error).message
    : null;
}
