import type { Session, Turn } from '../../../api/sessions.ts';
import { findGitDirectories } from '../../../core/children/sandbox/git-directories.ts';
import { removeLinksOfRepository } from '../../../core/children/sandbox/link-sweep.ts';
import type { ServerParts } from '../../../core/events/server-parts.ts';
import { counted } from '../../../core/lib/counted.ts';
import { OneAtATime } from '../../../core/lib/one-at-a-time.ts';
import { assertGitDirectory } from '../git/foreign.ts';
import type { GitContext } from '../git/git-context.ts';
import { repositoryAt } from '../git/repository.ts';

/** The time that a reading of the refs may take, in milliseconds. */
const LIMIT_MS = 5000;
/** The maximum number of refs that a notice names. */
const MAX_NAMED = 5;

interface Ref {
  commit: string;
  /** Whether a linked worktree has checked out the branch. */
  isOfWorktree: boolean;
}

/** Branches and tags by their names. */
type Refs = ReadonlyMap<string, Ref>;

interface Dependencies extends Pick<ServerParts, 'db' | 'log' | 'clock' | 'logger'> {
  gitContext: GitContext;
  /** Whether the agent of a session runs in a sandbox. */
  isSandboxed: (session: Session) => boolean;
}

/**
 * Reports branches and tags that have moved during a turn in a sandbox. A sandbox in a worktree can write all of them. Branches
 * of linked worktrees are left out, because their own sessions move them.
 */
export class MovedBranches {
  readonly #deps: Dependencies;
  readonly #before = new Map<string, Refs>();
  readonly #sessions = new OneAtATime();

  constructor(deps: Dependencies) {
    this.#deps = deps;
  }

  /** Reads the refs before a turn; null if the sandbox cannot write them. Never rejects. */
  before(session: Session, turn: Turn, signal: AbortSignal): Promise<void> | null {
    if (!this.#deps.isSandboxed(session)) return null;
    return this.#sessions.run(session.id, async () => {
      const refs = await this.#read(session, [signal]);
      if (refs) this.#before.set(turn.turn_id, refs);
    });
  }

  /** Compares the refs after a turn, in the background. */
  after(session: Session, { turn_id }: Turn): void {
    const before = this.#before.get(turn_id);
    if (!before) return;
    this.#before.delete(turn_id);
    void this.#sessions.run(session.id, async () => {
      const after = await this.#read(session, []);
      const moved = after === null ? [] : movedIn(before, after);
      if (moved.length > 0) await this.#report(session.id, turn_id, moved);
    });
  }

  /** Resolves when no refs are being read. */
  idle(): Promise<void> {
    return this.#sessions.idle();
  }

  async #report(session_id: string, turn_id: string, moved: readonly string[]): Promise<void> {
    const { db, log, logger } = this.#deps;
    const rest = moved.length - MAX_NAMED;
    const more = rest > 0 ? ` and ${counted(rest, 'other')}` : '';
    const payload = {
      code: 'branches_moved',
      message: `during the turn, the agent or another program moved ${moved.slice(0, MAX_NAMED).join(', ')}${more}`,
    };
    await db
      .transact((tx) => log.append(tx, { kind: 'session.notice', session_id, turn_id, payload }))
      .catch((error: unknown) => logger.warn({ err: error, session_id }, 'cannot report refs'));
  }

  /** Resolves with the refs that a sandbox of the session can write; null if there are none, or if git fails. */
  async #read(session: Session, signals: readonly AbortSignal[]): Promise<Refs | null> {
    const { clock, gitContext, logger } = this.#deps;
    const late = new AbortController();
    using _limit = clock.after(LIMIT_MS, () => late.abort());
    try {
      const found = await findGitDirectories(session.cwd);
      // In a main worktree, and below the root of a worktree, the refs are read-only.
      if (found === null || found.file === null) return null;
      const { commonDirectory } = found;
      await assertGitDirectory(commonDirectory);
      await removeLinksOfRepository(commonDirectory);
      const git = gitContext.git.within(AbortSignal.any([...signals, late.signal]));
      const format = '--format=%(objectname) %(refname)%00%(worktreepath)';
      const list = ['for-each-ref', format, 'refs/heads', 'refs/tags'];
      const text = await repositoryAt(git, commonDirectory).git.text(list);
      const main = commonDirectory.replace(/\/\.git$/, '');
      return new Map(text.split('\n').flatMap((line) => refIn(line, main)));
    } catch (error) {
      logger.debug({ err: error, session_id: session.id }, 'cannot compare the refs of a turn');
      return null;
    }
  }
}

function refIn(line: string, main: string): [string, Ref][] {
  const [, commit = '', name = '', worktree = ''] = /^(\S+) ([^\0]+)\0(.*)$/.exec(line) ?? [];
  return name === ''
    ? []
    : [[name, { commit, isOfWorktree: worktree !== '' && worktree !== main }]];
}

/** Returns the refs that were there before, and were moved or removed. */
function movedIn(before: Refs, after: Refs): string[] {
  return [...before].flatMap(([name, { commit, isOfWorktree }]) => {
    const now = after.get(name)?.commit;
    if (isOfWorktree || now === commit) return [];
    const short = name.replace(/^refs\/(heads|tags)\//, '');
    return [`${short} (${commit.slice(0, 8)} to ${now?.slice(0, 8) ?? 'nothing'})`];
  });
}
