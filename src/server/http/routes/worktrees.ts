import { endpoints } from '../../../api/index.ts';
import type { WorktreeService } from '../../work/worktrees/service.ts';
import type { InitScripts } from '../../work/worktrees/init-scripts.ts';
import { type Mount, onePage, senderOf } from '../mount.ts';

/** Worktrees and the claims on them. */
export function worktreeRoutes(
  mount: Mount,
  worktrees: WorktreeService,
  initScripts: InitScripts,
): void {
  mount(endpoints.createWorktree, ({ body, keep }) => worktrees.create(body, keep));
  mount(endpoints.listWorktrees, async ({ query, setHeader }) =>
    onePage(await worktrees.list(query), setHeader),
  );
  mount(endpoints.getWorktree, ({ params }) => worktrees.get(params.worktree_id));
  mount(endpoints.claimWorktree, ({ params, body, keep }) =>
    worktrees.claim(params.worktree_id, body, keep),
  );
  mount(endpoints.releaseWorktree, ({ params, body, keep }) =>
    worktrees.release(params.worktree_id, body, keep),
  );
  mount(endpoints.cleanUpWorktree, ({ params, body }) =>
    worktrees.cleanUp(params.worktree_id, body.reason ?? null),
  );
  mount(endpoints.restoreWorktree, ({ params, body, keep }) =>
    worktrees.restore(params.worktree_id, body, keep),
  );
  mount(endpoints.mergeWorktree, ({ params, body, keep }) =>
    worktrees.merge(params.worktree_id, body, keep),
  );
  mount(endpoints.rebaseWorktree, ({ params, body, keep }) =>
    worktrees.rebase(params.worktree_id, body, keep),
  );
  mount(endpoints.openPullRequest, ({ params, body, keep }) =>
    worktrees.openPullRequest(params.worktree_id, body, keep),
  );
  mount(endpoints.collectWorktrees, ({ body }) => worktrees.collect(body));
  mount(endpoints.getWorktreeDiagnostics, () => worktrees.diagnostics());

  mount(endpoints.listTrusted, async ({ query, setHeader }) =>
    onePage(await initScripts.list(query), setHeader),
  );
  mount(endpoints.lookAtBrought, ({ body }) => initScripts.brings(body.repo_root));
  mount(endpoints.trustContent, ({ body, bearer, keep }) =>
    initScripts.trust(body.repo_root, body.sha256, senderOf({ bearer }), keep),
  );
  mount(endpoints.untrustContent, ({ body, keep }) =>
    initScripts.untrust(body.repo_root, body.sha256 ?? null, keep),
  );
}
