import { hash } from 'node:crypto';
import type { Approval } from '../../api/approvals.ts';
import type { ApprovalLink } from '../../api/hooks.ts';
import type { Session } from '../../api/sessions.ts';
import { AppError, invalidError, notFoundError } from '../../api/errors.ts';
import type { ServerParts } from '../../core/events/server-parts.ts';
import { newSecret } from '../../core/lib/ids.ts';
import type { SaveResponse } from '../../core/store/idempotency-store.ts';
import { RecordTable } from '../../core/store/records.ts';
import type { Reader, Writer } from '../../core/store/transaction.ts';

/** The maximum number of links of one approval; the oldest goes for a new one. */
const MAX_LINKS = 20;

/** The path of the page, before the secret. */
export const LINK_PATH = '/answer/';

/** A stored link. It contains only a digest of the secret. */
interface StoredLink {
  id: string;
  approval_id: string;
  session_id: string;
  secret_sha256: string;
  created_at: number;
  expires_at: number;
  made_by: string;
}

/** An approval with its session, as the page of a link shows it. */
export interface LinkedApproval {
  approval: Approval;
  session: Pick<Session, 'title' | 'cwd'>;
}

export interface LinkDeps extends Pick<ServerParts, 'db' | 'clock' | 'ids' | 'logger'> {
  approval: (rx: Reader, id: string) => Approval | undefined;
  session: (rx: Reader, id: string) => Session;
  /** Decides an approval. `saveResponse` runs in its transaction. Throws AppError. */
  decide: (
    approval: Approval,
    decision: 'accept' | 'decline',
    by: string,
    saveResponse: SaveResponse,
  ) => Promise<Approval>;
  /** The address before the path of the page. */
  baseUrl: () => string;
  /** The time until a link expires, in ms. */
  lifetimeMs: () => number;
}

/** Single-use links that answer one approval each. A link works without a token, and gives no other access. */
export class ApprovalLinks {
  readonly #deps: LinkDeps;
  readonly #table: RecordTable<StoredLink>;

  constructor(deps: LinkDeps) {
    this.#deps = deps;
    this.#table = new RecordTable(deps.db, 'approval_links', ({ id }) => id);
  }

  /**
   * Makes a link for a pending approval. Throws `not_found`, `approval_resolved`, and `invalid` for a request that two
   * buttons cannot answer.
   */
  async make(
    approvalId: string,
    { by, sessionId, lifetimeMs }: { by: string; sessionId?: string; lifetimeMs?: number | null },
  ): Promise<ApprovalLink> {
    const { db, clock, ids, logger, baseUrl } = this.#deps;
    const secret = newSecret();
    const created_at = clock.now();
    const expires_at = created_at + (lifetimeMs ?? this.#deps.lifetimeMs());
    const id = ids.next('link');
    await db.transact((tx) => {
      const approval = this.#deps.approval(tx, approvalId);
      if (!approval || (sessionId !== undefined && approval.session_id !== sessionId))
        throw notFoundError(`session "${sessionId ?? ''}" has no approval "${approvalId}"`);
      assertAnswerable(approval);
      this.#makeRoom(tx, approvalId, created_at);
      this.#table.insert(tx, {
        id,
        approval_id: approvalId,
        session_id: approval.session_id,
        secret_sha256: digestOf(secret),
        created_at,
        expires_at,
        made_by: by,
      });
    });
    logger.info({ link_id: id, approval_id: approvalId, by }, 'created a link to an approval');
    return { id, url: `${baseUrl()}${LINK_PATH}${secret}`, expires_at };
  }

  /** Returns what a link would answer; null if it was never made, was used, has expired, or answers nothing any more. */
  look(secret: string): LinkedApproval | null {
    return this.#deps.db.peek((rx) => {
      const link = this.#find(rx, secret);
      if (link?.approval.status !== 'pending') return null;
      const { title, cwd } = this.#deps.session(rx, link.session_id);
      return { approval: link.approval, session: { title, cwd } };
    });
  }

  /** Answers the approval of a link, which ends all its links. Resolves with null as `look` does. */
  async answer(secret: string, decision: 'accept' | 'decline'): Promise<Approval | null> {
    const { db, decide } = this.#deps;
    const link = db.peek((rx) => this.#find(rx, secret));
    if (!link) return null;
    const { id, approval } = link;
    try {
      return await decide(approval, decision, id, (tx) => {
        // The transaction may come later than the look above.
        if (!this.#find(tx, secret)) throw notFoundError('the approval link was already used');
        this.#table.deleteWhere(tx, 'approval_id = ?', approval.id);
      });
    } catch (error) {
      if (error instanceof AppError && REFUSED.has(error.code)) return null;
      throw error;
    }
  }

  /** Returns a link that has not expired, with its approval. */
  #find(rx: Reader, secret: string): (StoredLink & { approval: Approval }) | null {
    const [link] = this.#table.where(rx, 'secret_sha256 = ?', digestOf(secret));
    const approval = link && this.#deps.approval(rx, link.approval_id);
    if (!link || !approval || link.expires_at <= this.#deps.clock.now()) return null;
    return { ...link, approval };
  }

  #makeRoom(tx: Writer, approvalId: string, now: number): void {
    this.#table.deleteWhere(tx, 'expires_at <= ?', now);
    const links = this.#table.where(tx, 'approval_id = ?', approvalId);
    for (const { id } of links.slice(0, Math.max(0, links.length - MAX_LINKS + 1)))
      this.#table.delete(tx, id);
  }
}

/** Refusals that only say that the link is not valid. */
const REFUSED: ReadonlySet<string> = new Set(['approval_resolved', 'not_found', 'invalid']);

/** Throws for an approval that two buttons cannot answer: a question needs words. */
function assertAnswerable({ id, kind, status }: Approval): void {
  if (status !== 'pending')
    throw new AppError('approval_resolved', `approval ${id} is already ${status}`);
  if (kind === 'question')
    throw invalidError(
      `approval ${id} is a question, which a link cannot answer: answer the question in cadre`,
    );
}

function digestOf(secret: string): string {
  return hash('sha256', secret, 'hex');
}
