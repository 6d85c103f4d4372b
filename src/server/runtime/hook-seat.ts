import type { Approval } from '../../api/approvals.ts';
import type { ApprovalLink, Hook, HookSkip, HookTest } from '../../api/hooks.ts';
import type { Supervisor } from '../../core/children/supervisor.ts';
import { notFoundError } from '../../api/errors.ts';
import type { Feed } from '../../core/events/feed.ts';
import { lazyModule } from '../../core/lib/lazy-module.ts';
import type { HookService, SkipRequest } from '../hooks/index.ts';
import type { LinkDeps, LinkedApproval } from '../hooks/links.ts';
import type { SaveResponse } from '../../core/store/idempotency-store.ts';
import type { Base } from './base.ts';

interface HookParts extends Pick<LinkDeps, 'approval' | 'session' | 'decide'> {
  feed: Feed;
  supervisor: Supervisor;
}

/** The place of hooks and links. Without a configured hook, and before the first link, it loads nothing. */
export class HookSeat {
  readonly #base: Base;
  readonly #parts: HookParts;
  readonly #hooks = lazyModule(() => this.#load());
  #applying: Promise<void> = Promise.resolve();
  #isOpen = false;

  constructor(base: Base, parts: HookParts) {
    this.#base = base;
    this.#parts = parts;
  }

  /** Begins to deliver events, in the background. Must be called once the server listens. */
  open(): void {
    this.#isOpen = true;
    this.reload();
  }

  /** Takes over the hooks of the configuration as it is now. */
  reload(): void {
    const { config, logger } = this.#base;
    const { hooks, approvals } = config.now;
    const hasHooks = hooks.length > 0 || approvals.notify_command !== null;
    if (!this.#isOpen || (!hasHooks && !this.#hooks.isUsed)) return;
    // Hooks receive the events that occur while they are loaded.
    const from = this.#parts.feed.latestSeq;
    this.#applying = this.#hooks
      .load()
      .then(({ service, definitionsOf }) => service.apply(definitionsOf(config.now), from))
      .catch((error: unknown) => logger.error({ err: error }, 'cannot start the hooks'));
  }

  /** Ends all deliveries; the next start continues them. */
  async stop(): Promise<void> {
    this.#isOpen = false;
    await this.#applying;
    await this.#hooks.loaded?.service.stop();
  }

  /** Returns the problems that a person has to solve; null if there is no hook. */
  problems(): string[] | null {
    return this.#hooks.loaded?.service.problems() ?? null;
  }

  async list(): Promise<Hook[]> {
    await this.#applying;
    return this.#hooks.loaded?.service.list() ?? [];
  }

  /** Throws `not_found` and `conflict`. */
  async test(name: string): Promise<HookTest> {
    return (await this.#service(name)).test(name);
  }

  /** Throws `not_found` and `conflict`. */
  async skip(name: string, wish: SkipRequest, saveResponse: SaveResponse): Promise<HookSkip> {
    return (await this.#service(name)).skip(name, wish, saveResponse);
  }

  /** Makes a link to an approval. Throws `not_found`, `approval_resolved` and `invalid`. */
  async link(
    approvalId: string,
    made: { by: string; sessionId: string; lifetimeMs: number | null },
  ): Promise<ApprovalLink> {
    return (await this.#hooks.load()).links.make(approvalId, made);
  }

  /** Returns the approval of a link; null if the link is not valid. */
  async look(secret: string): Promise<LinkedApproval | null> {
    return (await this.#hooks.load()).links.look(secret);
  }

  /** Answers the approval of a link; null if the link is not valid. */
  async answer(secret: string, decision: 'accept' | 'decline'): Promise<Approval | null> {
    return (await this.#hooks.load()).links.answer(secret, decision);
  }

  async #service(name: string): Promise<HookService> {
    await this.#applying;
    if (this.#hooks.loaded) return this.#hooks.loaded.service;
    throw notFoundError(`hook "${name}" not found`);
  }

  async #load() {
    const { ApprovalLinks, HookService, definitionsOf } = await import('../hooks/index.ts');
    const base = this.#base;
    const { config, db } = base;
    const links = new ApprovalLinks({
      ...base,
      ...this.#parts,
      baseUrl: () => config.now.approvals.link_base_url?.replace(/\/$/, '') ?? base.address.url,
      lifetimeMs: () => config.now.approvals.link_expires_ms,
    });
    const service = new HookService({
      ...base,
      ...this.#parts,
      links,
      ownUrl: () => base.address.url,
      pendingApproval: (id) => {
        const approval = db.peek((rx) => this.#parts.approval(rx, id));
        return approval?.status === 'pending' ? approval : null;
      },
    });
    return { service, links, definitionsOf };
  }
}
