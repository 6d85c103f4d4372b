import type { Hook } from '../../api/hooks.ts';
import { linkOrigin } from '../../core/config/hooks-section.ts';
import type { Supervisor } from '../../core/children/supervisor.ts';
import { notFoundError } from '../../api/errors.ts';
import type { Feed } from '../../core/events/feed.ts';
import { lazyModule } from '../../core/lib/lazy-module.ts';
import type { HookService, SkipRequest } from '../hooks/index.ts';
import type { ApprovalLinks, LinkDeps } from '../hooks/links.ts';
import type { SaveResponse } from '../../core/store/idempotency-store.ts';
import type { Base } from './base.ts';

interface HookParts extends Pick<LinkDeps, 'approval' | 'session' | 'decide'> {
  feed: Feed;
  supervisor: Supervisor;
}

/** Hooks and links. Without a configured hook, and before the first link, nothing of them is loaded. */
export function lazyHooks(base: Base, parts: HookParts) {
  const { config, logger } = base;
  const hooks = lazyModule(() => loadHooks(base, parts));
  let applying: Promise<void> = Promise.resolve();
  let isOpen = false;
  /** Takes over the hooks of the configuration as it is now. */
  const reload = () => {
    const hasHooks = config.now.hooks.length > 0 || config.now.approvals.notify_command !== null;
    if (!isOpen || (!hasHooks && !hooks.isUsed)) return;
    // Hooks receive the events that occur while they are loaded.
    const from = parts.feed.latestSeq;
    applying = hooks
      .load()
      .then(({ service, definitionsOf }) => service.apply(definitionsOf(config.now), from))
      .catch((error: unknown) => logger.error({ err: error }, 'cannot start the hooks'));
  };
  /** Throws `not_found` without hooks. */
  const serviceFor = async (name: string): Promise<HookService> => {
    await applying;
    if (hooks.loaded) return hooks.loaded.service;
    throw notFoundError(`hook "${name}" not found`);
  };
  const links = async (): Promise<ApprovalLinks> => (await hooks.load()).links;
  return {
    reload,
    /** Begins to deliver events, in the background. Must be called once the server listens. */
    open() {
      isOpen = true;
      reload();
    },
    /** Ends all deliveries; the next start continues them. */
    async stop() {
      isOpen = false;
      await applying;
      await hooks.loaded?.service.stop();
    },
    /** Returns the problems that a person has to solve; null if there is no hook. */
    problems: () => hooks.loaded?.service.problems() ?? null,
    async list(): Promise<Hook[]> {
      await applying;
      return hooks.loaded?.service.list() ?? [];
    },
    test: async (name: string) => (await serviceFor(name)).test(name),
    skip: async (name: string, request: SkipRequest, saveResponse: SaveResponse) =>
      (await serviceFor(name)).skip(name, request, saveResponse),
    link: async (...request: Parameters<ApprovalLinks['make']>) => (await links()).make(...request),
    look: async (secret: string) => (await links()).look(secret),
    answer: async (...given: Parameters<ApprovalLinks['answer']>) =>
      (await links()).answer(...given),
  };
}

async function loadHooks(base: Base, parts: HookParts) {
  const { ApprovalLinks, HookService, definitionsOf } = await import('../hooks/index.ts');
  const { config, db, address } = base;
  const links = new ApprovalLinks({
    ...base,
    ...parts,
    baseUrl: () => linkOrigin(config.now.approvals) ?? address.url,
    lifetimeMs: () => config.now.approvals.link_expires_ms,
  });
  const service = new HookService({
    ...base,
    ...parts,
    links,
    ownUrl: () => address.url,
    pendingApproval: (id) => {
      const approval = db.peek((rx) => parts.approval(rx, id));
      return approval?.status === 'pending' ? approval : null;
    },
  });
  return { service, links, definitionsOf };
}
