import type { Claim, Worktree } from '../../../api/worktrees.ts';
import type { Session } from '../../../api/sessions.ts';
import { notFoundError } from '../../../api/errors.ts';
import type { Clock } from '../../../core/lib/clock.ts';
import { assertOpen } from '../../conversations/sessions/session.ts';
import type { SessionStore } from '../../conversations/sessions/store.ts';
import type { WorktreeStore } from './store.ts';
import { assertThere, claimedBy } from './worktree.ts';
import type { Reader, Writer } from '../../../core/store/transaction.ts';

interface ClaimsDependencies {
  store: WorktreeStore;
  sessionStore: SessionStore;
  clock: Clock;
}

export class Claims {
  readonly #deps: ClaimsDependencies;

  constructor(deps: ClaimsDependencies) {
    this.#deps = deps;
  }

  /** Claims a worktree for a session; returns the existing claim if it has the same role. */
  make(tx: Writer, worktreeId: string, sessionId: string, role?: Claim['claim_role']): Claim {
    const { store, sessionStore, clock } = this.#deps;
    const worktree = store.worktree(tx, worktreeId);
    const session = sessionStore.session(tx, sessionId);
    assertOpen(session);
    assertThere(worktree);
    const held = store.claim(tx, worktreeId, sessionId);
    const now = clock.now();
    const claim = claimedBy(sessionId, role ?? 'consumer', { worktree, held, now });
    if (claim === held) return claim;
    const active: Worktree = { ...worktree, status: 'active', updated_at: now };
    store.moveClaim(tx, active, claim, 'worktree.claimed');
    this.#point(tx, session, worktreeId);
    return claim;
  }

  /** Releases a claim; after the last one the worktree is retained. Throws `not_found` if there is no such claim. */
  release(tx: Writer, worktreeId: string, sessionId: string): { worktree: Worktree; claim: Claim } {
    const worktree = this.#deps.store.worktree(tx, worktreeId);
    const session = this.#deps.sessionStore.session(tx, sessionId);
    const held = this.#deps.store.claim(tx, worktreeId, sessionId);
    if (!held || held.released_at !== null)
      throw notFoundError(`session "${sessionId}" has no claim on worktree "${worktreeId}"`);
    const released = this.#release(tx, worktree, held);
    if (session.worktree_id === worktreeId) this.#point(tx, session, this.#newestOf(tx, sessionId));
    return released;
  }

  /** Moves all claims of a session to another one. The worktrees have a claim at each moment. */
  moveAll(tx: Writer, from: string, to: string): void {
    const { store, sessionStore } = this.#deps;
    const { worktree_id: current } = sessionStore.session(tx, from);
    const claims = store.activeClaimsOf(tx, from);
    // The claim that is made last determines the worktree of the session.
    const isCurrent = (claim: Claim) => Number(claim.worktree_id === current);
    for (const claim of claims.toSorted((a, b) => isCurrent(a) - isCurrent(b))) {
      this.make(tx, claim.worktree_id, to, claim.claim_role);
      this.release(tx, claim.worktree_id, from);
    }
  }

  /** Releases all claims of a session that is closing or closed; returns the ids of the worktrees. */
  releaseAllOf(tx: Writer, sessionId: string): string[] {
    const { store, sessionStore } = this.#deps;
    const claims = store.activeClaimsOf(tx, sessionId);
    for (const claim of claims) {
      const { worktree } = this.#release(tx, store.worktree(tx, claim.worktree_id), claim);
      if (worktree.status === 'retained') store.move(tx, worktree, 'worktree.retained', {});
    }
    const session = sessionStore.session(tx, sessionId);
    // This change has no event of its own, because the event that closes the session carries it.
    if (session.worktree_id !== null)
      sessionStore.sessions.update(tx, { ...session, worktree_id: null });
    return claims.map(({ worktree_id }) => worktree_id);
  }

  #release(tx: Writer, worktree: Worktree, held: Claim): { worktree: Worktree; claim: Claim } {
    const now = this.#deps.clock.now();
    const claim: Claim = { ...held, released_at: now };
    const others = this.#deps.store.activeClaimsOn(tx, worktree.id).length - 1;
    const status = others === 0 && worktree.status === 'active' ? 'retained' : worktree.status;
    const after: Worktree = { ...worktree, status, updated_at: now };
    this.#deps.store.moveClaim(tx, after, claim, 'worktree.released');
    return { worktree: after, claim };
  }

  #newestOf(rx: Reader, sessionId: string): string | null {
    const claims = this.#deps.store.activeClaimsOf(rx, sessionId);
    return claims.toSorted((a, b) => a.created_at - b.created_at).at(-1)?.worktree_id ?? null;
  }

  #point(tx: Writer, session: Session, worktree_id: string | null): void {
    const now = { ...session, worktree_id, updated_at: this.#deps.clock.now() };
    this.#deps.sessionStore.updateSession(tx, now, 'session.updated');
  }
}
