import { endpoints } from '../../../api/index.ts';
import type { RaceService } from '../../work/races/service.ts';
import type { WorktreeService } from '../../work/worktrees/service.ts';
import type { InitScripts } from '../../work/worktrees/init-scripts.ts';
import { type Mount, senderOf } from '../mount.ts';

export interface Worktrees {
  worktrees: WorktreeService;
  initScripts: InitScripts;
  races: RaceService;
}

export function worktreeRoutes(mount: Mount, { worktrees, initScripts }: Worktrees): void {
  mount(endpoints.createWorktree, ({ body, saveResponse }) => worktrees.create(body, saveResponse));
  mount.page(endpoints.listWorktrees, ({ query }) => worktrees.list(query));
  mount(endpoints.getWorktree, ({ params }) => worktrees.get(params.worktree_id));
  mount(endpoints.claimWorktree, ({ params, body, saveResponse }) =>
    worktrees.claim(params.worktree_id, body, saveResponse),
  );
  mount(endpoints.releaseWorktree, ({ params, body, saveResponse }) =>
    worktrees.release(params.worktree_id, body, saveResponse),
  );
  mount(endpoints.cleanUpWorktree, ({ params, body }) =>
    worktrees.cleanUp(params.worktree_id, body.reason ?? null),
  );
  mount(endpoints.restoreWorktree, ({ params, body, saveResponse }) =>
    worktrees.restore(params.worktree_id, body, saveResponse),
  );
  mount(endpoints.mergeWorktree, ({ params, body, saveResponse }) =>
    worktrees.merge(params.worktree_id, body, saveResponse),
  );
  mount(endpoints.rebaseWorktree, ({ params, body, saveResponse }) =>
    worktrees.rebase(params.worktree_id, body, saveResponse),
  );
  mount(endpoints.openPullRequest, ({ params, body, saveResponse }) =>
    worktrees.openPullRequest(params.worktree_id, body, saveResponse),
  );
  mount(endpoints.collectWorktrees, ({ body }) => worktrees.collect(body));
  mount(endpoints.getWorktreeDiagnostics, () => worktrees.diagnostics());

  mount.page(endpoints.listTrusted, ({ query }) => initScripts.list(query));
  mount(endpoints.lookAtBrought, ({ body }) => initScripts.brings(body.repo_root, body));
  mount(endpoints.trustContent, ({ body, bearer, saveResponse }) =>
    initScripts.trust(body.repo_root, body.sha256, senderOf({ bearer }), saveResponse),
  );
  mount(endpoints.untrustContent, ({ body, saveResponse }) =>
    initScripts.untrust(body.repo_root, body.sha256 ?? null, saveResponse),
  );
}

export function raceRoutes(mount: Mount, { races }: Pick<Worktrees, 'races'>): void {
  mount(endpoints.startRace, ({ body, bearer, saveResponse }) =>
    races.start(body, senderOf({ bearer }), saveResponse),
  );
  mount.page(endpoints.listRaces, ({ query }) => races.list(query));
  mount(endpoints.getRace, ({ params }) => races.get(params.race_id));
  mount(endpoints.keepContender, ({ params, body, saveResponse }) =>
    races.keep(params.race_id, body, saveResponse),
  );
  mount(endpoints.stopRace, ({ params, saveResponse }) => races.stop(params.race_id, saveResponse));
}
