import type { EventKind } from '../api/events.ts';
import type { Claim, Worktree } from '../api/worktrees.ts';
import { AppError } from '../errors.ts';
import type { EventLog } from '../events/log.ts';
import type { Database } from '../store/database.ts';
import { RecordTable } from '../store/records.ts';
import type { Statement } from '../store/statement.ts';
import { worktreeInEvents } from './worktree.ts';
import type { Reader, Writer } from '../store/transaction.ts';

/**
 * What git is about to do, or was doing when the server died. `worktree` is the record as it will be in the end; `tip`
 * of a removal is the commit that the branch to be deleted stood at.
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

  /** The operations that a dead server had begun, oldest first. */
  cutOff(rx: Reader): Operation[] {
    return this.operations.where(rx, 'TRUE');
  }

  /** Throws `not_found`. */
  worktree(rx: Reader, id: string): Worktree {
    const worktree = this.worktrees.get(rx, id);
    if (worktree) return worktree;
    throw new AppError('not_found', `no worktree "${id}"`);
  }

  /** The worktrees of a repository that have or had a name, oldest first: at most one of them is on the disk. */
  named(rx: Reader, repoRoot: string, name: string): Worktree[] {
    return this.worktrees.where(rx, 'repo_root = ? AND worktree_name = ?', repoRoot, name);
  }

  /** Worktrees that should be on the disk, oldest first. */
  present(rx: Reader): Worktree[] {
    return this.worktrees.where(rx, "status IN ('active', 'retained')");
  }

  /** The other worktrees of a repository that are there, are being made or were not cleaned up yet. */
  beside(rx: Reader, { id, repo_root }: Worktree): Worktree[] {
    const stored = this.worktrees.where(
      rx,
      "repo_root = ? AND status IN ('active', 'retained', 'missing')",
      repo_root,
    );
    const underWay = this.operations
      .where(rx, "record ->> '$.worktree.repo_root' = ?", repo_root)
      .map(({ worktree }) => worktree);
    return [...stored, ...underWay].filter((one) => one.id !== id);
  }

  /** The worktrees that an operation of a team made and that were not cleaned up, oldest first. */
  madeBy(rx: Reader, teamId: string, operationId: string): Worktree[] {
    return this.worktrees.where(
      rx,
      "team_id = ? AND record ->> '$.operation_id' = ? AND status <> 'cleaned'",
      teamId,
      operationId,
    );
  }

  retained(rx: Reader): Worktree[] {
    return this.worktrees.where(rx, "status = 'retained'");
  }

  create(tx: Writer, worktree: Worktree): void {
    this.worktrees.insert(tx, worktree);
    this.#append(tx, 'worktree.created', worktree, worktree.source_session_id, { worktree });
  }

  /** Writes a worktree in its new state; `more` is added to the payload of the event. */
  move(tx: Writer, worktree: Worktree, kind: EventKind, more: Record<string, unknown> = {}): void {
    this.worktrees.update(tx, worktree);
    const payload = { worktree: worktreeInEvents(worktree), ...more };
    this.#append(tx, kind, worktree, worktree.source_session_id, payload);
  }

  /** Writes a claim that was made or released, and its worktree as that left it. */
  moveClaim(tx: Writer, worktree: Worktree, claim: Claim, kind: EventKind): void {
    this.worktrees.update(tx, worktree);
    if (this.#claims.get(tx, claimId(claim))) this.#claims.update(tx, claim);
    else this.#claims.insert(tx, claim);
    const payload = { worktree: worktreeInEvents(worktree), claim };
    this.#append(tx, kind, worktree, claim.session_id, payload);
  }

  claim(rx: Reader, worktreeId: string, sessionId: string): Claim | undefined {
    return this.#claims.get(rx, claimId({ worktree_id: worktreeId, session_id: sessionId }));
  }

  /** Every claim there was, oldest first. */
  claimsOn(rx: Reader, worktreeId: string): Claim[] {
    return this.#claims.where(rx, 'worktree_id = ?', worktreeId);
  }

  activeClaimsOn(rx: Reader, worktreeId: string): Claim[] {
    return this.#claims.where(rx, 'worktree_id = ? AND released_at IS NULL', worktreeId);
  }

  activeClaimsOf(rx: Reader, sessionId: string): Claim[] {
    return this.#claims.where(rx, 'session_id = ? AND released_at IS NULL', sessionId);
  }

  /** Every session that claims something. */
  claimants(rx: Reader): string[] {
    const active = this.#claims.where(rx, 'released_at IS NULL');
    return [...new Set(active.map(({ session_id }) => session_id))];
  }

  /** Counts for diagnostics. */
  counts(rx: Reader): { byStatus: Map<string, number>; activeClaims: number; underWay: number } {
    return {
      byStatus: new Map(this.#counts.all(rx)),
      activeClaims: this.#activeClaims.get(rx)?.[0] ?? 0,
      underWay: this.#operationCount.get(rx)?.[0] ?? 0,
    };
  }

  #append(
    tx: Writer,
    kind: EventKind,
    { id: worktree_id, team_id }: Worktree,
    session_id: string,
    payload: Record<string, unknown>,
  ): void {
    this.#log.append(tx, { kind, worktree_id, session_id, team_id, payload });
  }
}

function claimId({ worktree_id, session_id }: Pick<Claim, 'worktree_id' | 'session_id'>): string {
  return `${worktree_id}/${session_id}`;
}
