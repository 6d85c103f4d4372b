import type { KindIn } from '../api/events.ts';
import type { Claim, Worktree } from '../api/worktrees.ts';
import { AppError } from '../errors.ts';
import type { EventBody } from '../events/event.ts';
import type { EventLog } from '../events/log.ts';
import type { Database } from '../store/database.ts';
import { RecordTable } from '../store/records.ts';
import type { Statement } from '../store/statement.ts';
import { worktreeInEvents } from './worktree.ts';

/**
 * What git is about to do, or was when the server died. `worktree` is as it will be in the end. A removal says where
 * the branch stood that goes with it.
 */
export interface Operation {
  kind: 'create' | 'remove' | 'restore';
  worktree: Worktree;
  tip: string | null;
}

/** The rows of worktrees and claims. Each change is written with the event that tells of it. */
export class WorktreeStore {
  readonly worktrees: RecordTable<Worktree>;
  readonly operations: RecordTable<Operation>;
  readonly #claims: RecordTable<Claim>;
  readonly #counts: Statement<[string, number]>;
  readonly #activeClaims: Statement<[number]>;
  readonly #operationCount: Statement<[number]>;
  readonly #log: EventLog;

  constructor({ db, log }: { db: Database; log: EventLog }) {
    this.#log = log;
    this.worktrees = new RecordTable(db, 'worktrees', ({ id }) => id);
    this.operations = new RecordTable(db, 'worktree_operations', ({ worktree }) => worktree.id);
    this.#claims = new RecordTable<Claim>(db, 'worktree_claims', claimId);
    this.#counts = db.prepare('SELECT status, count(*) FROM worktrees GROUP BY status');
    this.#activeClaims = db.prepare(
      'SELECT count(*) FROM worktree_claims WHERE released_at IS NULL',
    );
    this.#operationCount = db.prepare('SELECT count(*) FROM worktree_operations');
  }

  /** What a dead server was doing, oldest first. */
  cutOff(): Operation[] {
    return this.operations.where('TRUE');
  }

  /** Throws `not_found`. */
  worktree(id: string): Worktree {
    const worktree = this.worktrees.get(id);
    if (worktree) return worktree;
    throw new AppError('not_found', `no worktree "${id}"`);
  }

  /** The worktrees of a repository that have a name, oldest first: at most one of them is there. */
  named(repoRoot: string, name: string): Worktree[] {
    return this.worktrees.where('repo_root = ? AND worktree_name = ?', repoRoot, name);
  }

  /** Worktrees that should be there, oldest first. */
  present(): Worktree[] {
    return this.worktrees.where("status IN ('active', 'retained')");
  }

  /** The other worktrees of a repository that are there, are being made or were not cleaned up yet. */
  beside({ id, repo_root }: Worktree): Worktree[] {
    const stored = this.worktrees.where(
      "repo_root = ? AND status IN ('active', 'retained', 'missing')",
      repo_root,
    );
    const underWay = this.operations
      .where("record ->> '$.worktree.repo_root' = ?", repo_root)
      .map(({ worktree }) => worktree);
    return [...stored, ...underWay].filter((one) => one.id !== id);
  }

  retained(): Worktree[] {
    return this.worktrees.where("status = 'retained'");
  }

  create(worktree: Worktree): void {
    this.worktrees.insert(worktree);
    this.#append(worktree, { kind: 'worktree.created', payload: { worktree } });
  }

  /** Writes a worktree that moved on. */
  move(worktree: Worktree, kind: Exclude<KindIn<'worktree'>, KindWithMore>): void {
    this.worktrees.update(worktree);
    this.#append(worktree, { kind, payload: { worktree: worktreeInEvents(worktree) } });
  }

  /** Writes a worktree whose path and branch went. */
  clean(worktree: Worktree, reason: string | null): void {
    this.worktrees.update(worktree);
    const payload = { worktree: worktreeInEvents(worktree), reason };
    this.#append(worktree, { kind: 'worktree.cleaned', payload });
  }

  /** Writes that a worktree was to go and could not. */
  failCleanup(worktree: Worktree, reason: string | null, diagnostics: string[]): void {
    this.worktrees.update(worktree);
    const payload = { worktree: worktreeInEvents(worktree), reason, diagnostics };
    this.#append(worktree, { kind: 'worktree.cleanup_failed', payload });
  }

  /** Writes a claim that was made or released, and its worktree as that left it. */
  moveClaim(
    worktree: Worktree,
    claim: Claim,
    kind: 'worktree.claimed' | 'worktree.released',
  ): void {
    this.worktrees.update(worktree);
    if (this.#claims.get(claimId(claim))) this.#claims.update(claim);
    else this.#claims.insert(claim);
    const payload = { worktree: worktreeInEvents(worktree), claim };
    this.#append(worktree, { kind, payload }, claim.session_id);
  }

  claim(worktreeId: string, sessionId: string): Claim | undefined {
    return this.#claims.get(claimId({ worktree_id: worktreeId, session_id: sessionId }));
  }

  /** Every claim there was, oldest first. */
  claimsOn(worktreeId: string): Claim[] {
    return this.#claims.where('worktree_id = ?', worktreeId);
  }

  activeClaimsOn(worktreeId: string): Claim[] {
    return this.#claims.where('worktree_id = ? AND released_at IS NULL', worktreeId);
  }

  activeClaimsOf(sessionId: string): Claim[] {
    return this.#claims.where('session_id = ? AND released_at IS NULL', sessionId);
  }

  /** Every session that claims something. */
  claimants(): string[] {
    const active = this.#claims.where('released_at IS NULL');
    return [...new Set(active.map(({ session_id }) => session_id))];
  }

  /** How many there are, and how many of what. */
  counts(): { byStatus: Map<string, number>; activeClaims: number; underWay: number } {
    return {
      byStatus: new Map(this.#counts.all()),
      activeClaims: this.#activeClaims.get()?.[0] ?? 0,
      underWay: this.#operationCount.get()?.[0] ?? 0,
    };
  }

  #append(
    { id: worktree_id, team_id, source_session_id }: Worktree,
    body: EventBody,
    session_id = source_session_id,
  ): void {
    this.#log.append({ ...body, worktree_id, session_id, team_id });
  }
}

/** Kinds whose payload has more than the worktree as it is now. */
type KindWithMore =
  | 'worktree.created'
  | 'worktree.claimed'
  | 'worktree.released'
  | 'worktree.cleaned'
  | 'worktree.cleanup_failed';

function claimId({ worktree_id, session_id }: Pick<Claim, 'worktree_id' | 'session_id'>): string {
  return `${worktree_id}/${session_id}`;
}
