import path from 'node:path';
import type { EventOf, KindIn } from '../../../api/events.ts';
import type { Claim, Worktree } from '../../../api/worktrees.ts';
import type { EventBody } from '../../../core/events/event.ts';
import type { EventLog } from '../../../core/events/log.ts';
import type { Database } from '../../../core/store/database.ts';
import { RecordTable } from '../../../core/store/records.ts';
import type { Statement } from '../../../core/store/statement.ts';
import type { Moves } from '../merge/moves.ts';
import { isUsable, worktreeInEvents } from './worktree.ts';
import type { Reader, Writer } from '../../../core/store/transaction.ts';

/**
 * An operation of git that is running, or was running when the server died. `worktree` is the record as it will be in
 * the end; for a removal, `tip` is the commit that the branch to be deleted pointed to.
 */
export interface Operation {
  kind: 'create' | 'remove' | 'restore' | 'move';
  worktree: Worktree;
  tip: string | null;
  /** The moves of branches, and the event that they cause; only for the kind `move`. */
  moves?: Moves;
  told?: MergeEvent;
}

/** An event of a worktree, without the record of the worktree. */
interface WorktreeEvent<K extends KindIn<'worktree'>> {
  kind: K;
  payload: Omit<EventOf<K>['payload'], 'worktree'>;
}

export type MergeEvent =
  | WorktreeEvent<'worktree.merged'>
  /** `base` is the new base of the worktree. */
  | (WorktreeEvent<'worktree.rebased'> & { base: Pick<Worktree, 'base_ref' | 'base_commit'> })
  | WorktreeEvent<'worktree.pull_request_opened'>;

/** The rows of worktrees and claims. Each change is written together with its event. */
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

  /** Returns the operations that a dead server had begun, oldest first. */
  cutOff(rx: Reader): Operation[] {
    return this.operations.where(rx, 'TRUE');
  }

  endOperation(tx: Writer, worktreeId: string): void {
    this.operations.delete(tx, worktreeId);
  }

  /** Returns a worktree. Throws `not_found`. */
  worktree(rx: Reader, id: string): Worktree {
    return this.worktrees.require(rx, id, 'worktree');
  }

  /** Returns the worktrees of a repository that have or had a name, oldest first; at most one is on the disk. */
  named(rx: Reader, repoRoot: string, name: string): Worktree[] {
    return this.worktrees.where(rx, 'repo_root = ? AND worktree_name = ?', repoRoot, name);
  }

  /**
   * Returns the worktree that has a name in a repository: the one that exists, else one that is missing or whose branch could
   * not be deleted. A restored worktree may be older than a cleaned one of its name.
   */
  holding(rx: Reader, repoRoot: string, name: string): Worktree | undefined {
    const all = this.named(rx, repoRoot, name);
    const isLeft = ({ id, status }: Worktree) =>
      status !== 'cleaned' || this.operations.get(rx, id) !== undefined;
    return all.findLast(isUsable) ?? all.findLast(isLeft);
  }

  /** Returns the worktrees that should be on the disk, oldest first. */
  present(rx: Reader): Worktree[] {
    return this.worktrees.where(rx, "status IN ('active', 'retained')");
  }

  /** Returns the worktrees that have ports, without the given one: those that exist or are being made. */
  withPorts(rx: Reader, id: string): Worktree[] {
    const underWay = this.cutOff(rx).map(({ worktree }) => worktree);
    return [...this.present(rx), ...underWay].filter((one) => one.id !== id);
  }

  /** Returns the worktree that a directory lies in; undefined if it lies in none. */
  around(rx: Reader, directory: string): Worktree | undefined {
    const [found] = this.worktrees.where(
      rx,
      "record ->> '$.path' = ? AND status IN ('active', 'retained')",
      directory,
    );
    const parent = path.dirname(directory);
    return found ?? (parent === directory ? undefined : this.around(rx, parent));
  }

  /** Returns the other worktrees of a repository that exist, are being made or have not been cleaned up yet. */
  othersOf(rx: Reader, { id, repo_root }: Worktree): Worktree[] {
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

  /** Returns the worktrees that exist and that no session has ever claimed or restored, oldest first. */
  neverClaimed(rx: Reader): Worktree[] {
    return this.worktrees.where(
      rx,
      `status = 'retained' AND record ->> '$.archive_ref' IS NULL
       AND NOT EXISTS (SELECT 1 FROM worktree_claims WHERE worktree_id = worktrees.id)`,
    );
  }

  /** Returns the worktrees whose last claim was released and whose cleanup has not ended. */
  dueForCleanup(rx: Reader): Worktree[] {
    return this.worktrees.where(rx, "record ->> '$.cleanup_due_at' IS NOT NULL");
  }

  retained(rx: Reader): Worktree[] {
    return this.worktrees.where(rx, "status = 'retained'");
  }

  create(tx: Writer, worktree: Worktree): void {
    this.worktrees.insert(tx, worktree);
    this.#append(tx, worktree, { kind: 'worktree.created', payload: { worktree } });
  }

  /** Stores the new state of a worktree, with an event that has `more` than the worktree. */
  move<K extends KindIn<'worktree'>>(
    tx: Writer,
    worktree: Worktree,
    kind: K,
    more: WorktreeEvent<K>['payload'],
    sessionId?: string,
  ): void {
    this.worktrees.update(tx, worktree);
    const payload = { worktree: worktreeInEvents(worktree), ...more };
    this.#append(tx, worktree, { kind, payload } as EventBody, sessionId);
  }

  /** Stores that the work of a worktree was merged, rebased or proposed. */
  recordMerge(tx: Writer, id: string, event: MergeEvent, now: number): Worktree {
    const base = event.kind === 'worktree.rebased' ? event.base : {};
    const worktree = { ...this.worktree(tx, id), ...base, updated_at: now };
    this.move(tx, worktree, event.kind, event.payload);
    return worktree;
  }

  /** Stores a claim that was made or released, and the resulting state of its worktree. */
  moveClaim(
    tx: Writer,
    worktree: Worktree,
    claim: Claim,
    kind: 'worktree.claimed' | 'worktree.released',
  ): void {
    this.#claims.put(tx, claim);
    this.move(tx, worktree, kind, { claim }, claim.session_id);
  }

  claim(rx: Reader, worktreeId: string, sessionId: string): Claim | undefined {
    return this.#claims.get(rx, claimId({ worktree_id: worktreeId, session_id: sessionId }));
  }

  /** Returns every claim on a worktree, released ones included, oldest first. */
  claimsOn(rx: Reader, worktreeId: string): Claim[] {
    return this.#claims.where(rx, 'worktree_id = ?', worktreeId);
  }

  activeClaimsOn(rx: Reader, worktreeId: string): Claim[] {
    return this.#claims.where(rx, 'worktree_id = ? AND released_at IS NULL', worktreeId);
  }

  activeClaimsOf(rx: Reader, sessionId: string): Claim[] {
    return this.#claims.where(rx, 'session_id = ? AND released_at IS NULL', sessionId);
  }

  claimants(rx: Reader): string[] {
    const active = this.#claims.where(rx, 'released_at IS NULL');
    return [...new Set(active.map(({ session_id }) => session_id))];
  }

  counts(rx: Reader): { byStatus: Map<string, number>; activeClaims: number; underWay: number } {
    return {
      byStatus: new Map(this.#counts.all(rx)),
      activeClaims: this.#activeClaims.get(rx)?.[0] ?? 0,
      underWay: this.#operationCount.get(rx)?.[0] ?? 0,
    };
  }

  #append(
    tx: Writer,
    { id: worktree_id, team_id, source_session_id }: Worktree,
    body: EventBody,
    session_id = source_session_id,
  ): void {
    this.#log.append(tx, { ...body, worktree_id, session_id, team_id });
  }
}

function claimId({ worktree_id, session_id }: Pick<Claim, 'worktree_id' | 'session_id'>): string {
  return `${worktree_id}/${session_id}`;
}
