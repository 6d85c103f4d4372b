import fs from 'node:fs';
import path from 'node:path';
import { endpoints } from '../../../../src/api/index.ts';
import type { Worktree } from '../../../../src/api/worktrees.ts';
import { commit, git, makeRepository, write } from '../../../support/worktrees/work.ts';
import type { Violations } from '../../crash/checks.ts';
import { openSession, pauseRandomly, type Activity, type ActivityContext } from '../activity.ts';

/** A commit that was made in a worktree, and a file of it. */
interface Work {
  commit: string;
  blob: string;
  file: string;
  isMerged: boolean;
}

/** Worktrees with commits and files, which are merged, cleaned up and restored. */
export class WorktreeActivity implements Activity {
  readonly name = 'worktrees and merges';
  readonly #context: ActivityContext;
  readonly #repo: string;
  readonly #work: Work[] = [];

  constructor(context: ActivityContext) {
    this.#context = context;
    this.#repo = makeRepository(path.join(context.place, 'worktrees-repo'));
    git(this.#repo, 'config', 'user.name', 'Ada');
    git(this.#repo, 'config', 'user.email', 'ada@example.org');
  }

  async run(): Promise<void> {
    const session = await openSession(this.#context, this.#repo);
    for (let nth = 0; !this.#context.closing.aborted; nth++) {
      await this.#oneWorktree(session, `work-${nth}`);
      await pauseRandomly(this.#context, 300);
    }
  }

  async check(): Promise<Violations> {
    const wrong: Violations = [];
    const reachable = new Set(git(this.#repo, 'rev-list', '--all').split('\n'));
    const files = new Set(git(this.#repo, 'ls-tree', '--name-only', 'main').split('\n'));
    for (const { commit: id, blob, file, isMerged } of this.#work) {
      if (!reachable.has(id)) wrong.push(`commit ${id} with ${file} is not reachable`);
      if (!hasObject(this.#repo, blob)) wrong.push(`blob ${blob} of ${file} is gone`);
      if (isMerged && !files.has(file)) wrong.push(`${file} was merged and is not in main`);
    }
    const status = git(this.#repo, 'status', '--porcelain');
    if (status !== '') wrong.push(`the repository has changes: ${status}`);
    git(this.#repo, 'fsck', '--connectivity-only', '--no-dangling');
    return wrong;
  }

  async #oneWorktree(session: string, name: string): Promise<void> {
    const { requests, receipts, random } = this.#context;
    const body = { source_session_id: session, worktree_name: name };
    const tree = await requests.call(endpoints.createWorktree, { body });
    receipts.add('worktree.created', tree.id);
    const work = await this.#commitIn(tree, name);
    this.#work.push(work);
    const params = { worktree_id: tree.id };
    if (random.chance(0.5)) {
      const call = { params, body: { dry_run: false } };
      await requests.call(endpoints.mergeWorktree, call);
      work.isMerged = true;
    }
    await requests.call(endpoints.releaseWorktree, { params, body: { session_id: session } });
    if (random.chance(0.3)) await this.#restore(params);
  }

  /** Restores a worktree if it was cleaned up, and checks that nobody has lost its file. */
  async #restore(params: { worktree_id: string }): Promise<void> {
    const { requests } = this.#context;
    const { status, archive_ref } = await requests.call(endpoints.getWorktree, { params });
    if (status !== 'cleaned' || archive_ref === null) return;
    await requests.call(endpoints.restoreWorktree, { params, body: {} });
    await requests.call(endpoints.cleanUpWorktree, { params, body: {} });
  }

  /** Writes and commits a file. The disk may be full. */
  async #commitIn({ path: place }: Worktree, name: string): Promise<Work> {
    const file = `${name}.txt`;
    for (;;) {
      try {
        write(place, { [file]: `${name}\n` });
        const id = commit(place, name);
        const blob = git(place, 'rev-parse', `HEAD:${file}`);
        return { commit: id, blob, file, isMerged: false };
      } catch (error) {
        if (!fs.existsSync(place)) throw error;
        await pauseRandomly(this.#context, 300);
      }
    }
  }
}

function hasObject(repo: string, id: string): boolean {
  try {
    git(repo, 'cat-file', '-e', id);
    return true;
  } catch {
    return false;
  }
}
