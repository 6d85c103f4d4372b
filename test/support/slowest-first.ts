import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** The files that take more than five seconds. If one of them started last, it would run alone at the end. */
const SLOWEST = [
  'agents/acp/resuming',
  'agents/acp/after-restart',
  'campaigns/pages',
  'campaigns/day',
  'campaigns/idempotency',
  'campaigns/demo-agent',
  'server/work/worktrees/restore',
  'server/work/merge/merge',
  'campaigns/crash/worktrees',
  'frontends/tui/job-control',
  'server/work/worktrees/odd',
  'server/work/worktrees/cleanup',
  'agents/acp/turns',
  'agents/acp/choices',
  'server/work/git/hostile',
  'agents/codex/sharing',
  'server/work/worktrees/concurrent',
  'agents/claude/permission',
  'server/work/worktrees/create',
  'frontends/tui/terminal',
  'frontends/tui/diff',
  'campaigns/screen',
  'campaigns/hostile/other-user',
  'agents/codex/turns',
  'campaigns/crash/finish',
  'core/children/keeper',
  'server/upkeep/recovery/killed',
  'agents/codex/requests',
  'frontends/terminal/talk',
  'server/work/processes/kill',
  'server/work/snapshots/snapshots',
  'server/work/snapshots/diff',
  'campaigns/processes',
  'campaigns/fanout',
  'frontends/terminal/completion',
  'agents/acp/starting',
  'frontends/tui/event-page',
  'server/conversations/reviews/reviews',
  'frontends/cli/talk',
  'agents/acp/settings',
  'frontends/editor/agent',
  'frontends/cli/mcp-install',
  'frontends/terminal/asking',
  'server/hooks/delivery',
  'frontends/terminal/lists',
  'agents/codex/sessions',
  'releases/releases',
  'agents/acp/logging-in',
  'server/http/streams/kinds',
  'frontends/cli/db',
  'server/teams/spawn',
  'server/work/processes/queue',
  'agents/claude/turns',
  'server/work/worktrees/session',
  'server/work/processes/run',
  'server/http/connections',
  'frontends/cli/run',
  'frontends/cli/doctor',
  'server/runtime/disk',
  'campaigns/orphans',
  'campaigns/service',
  'frontends/editor/restart',
  'frontends/tui/top',
  'server/work/worktrees/init-script',
  'agents/acp/permission',
  'campaigns/tail',
  'server/work/processes/again',
  'core/store/power-loss',
  'server/work/processes/notice',
  'server/work/worktrees/included',
  'api/events',
  'frontends/cli/worktrees',
  'server/teams/gateway/process-tools',
  'frontends/cli/serve',
  'core/access/tokens',
];

/** Starts with the slowest files, and continues in the order of vitest. */
export class SlowestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification) => {
      const found = SLOWEST.findIndex((name) => moduleId.includes(`/test/${name}.test.`));
      return found === -1 ? SLOWEST.length : found;
    };
    // oxlint-disable-next-line unicorn/no-array-sort -- this is the sequencer's method, no array's.
    const others = await super.sort(files);
    return others.toSorted((one, other) => rank(one) - rank(other));
  }
}
