import { endpoints } from '../../../api/index.ts';
import type { ApprovalLink, Hook, HookSkip, HookTest } from '../../../api/hooks.ts';
import type { SaveResponse } from '../../../core/store/idempotency-store.ts';
import { type Mount, senderOf } from '../mount.ts';

export interface Hooks {
  list(): Promise<Hook[]>;
  test(name: string): Promise<HookTest>;
  skip(
    name: string,
    wish: { all: boolean; seq: number | null; by: string },
    saveResponse: SaveResponse,
  ): Promise<HookSkip>;
  link(
    approvalId: string,
    made: { by: string; sessionId: string; lifetimeMs: number | null },
  ): Promise<ApprovalLink>;
}

/** Hooks, and links that answer approvals. */
export function hookRoutes(mount: Mount, hooks: Hooks): void {
  mount(endpoints.listHooks, () => hooks.list());
  mount(endpoints.testHook, ({ params }) => hooks.test(params.hook_name));
  mount(endpoints.skipHook, ({ params, body, bearer, saveResponse }) => {
    const by = senderOf({ bearer });
    const wish = { all: body.all ?? false, seq: body.event_seq ?? null, by };
    return hooks.skip(params.hook_name, wish, saveResponse);
  });
  mount(endpoints.linkApproval, ({ params, body, bearer }) =>
    hooks.link(params.approval_id, {
      by: senderOf({ bearer }),
      sessionId: params.session_id,
      lifetimeMs: body.expires_in_ms ?? null,
    }),
  );
}
