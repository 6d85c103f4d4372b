import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** The files that take longest, each more than five seconds: begun last, one would run alone at the end. */
const SLOWEST = [
  'providers/acp/resuming',
  'providers/acp/after-restart',
  'campaigns/pages',
  'campaigns/day',
  'campaigns/idempotency',
  'campaigns/demo-agent',
  'worktrees/restore',
  'worktrees/finish',
  'campaigns/crash/worktrees',
  'tui/job-control',
  'worktrees/odd',
  'worktrees/cleanup',
  'providers/acp/turns',
  'providers/acp/choices',
  'worktrees/hostile',
  'providers/codex/sharing',
  'worktrees/concurrent',
  'providers/claude/permission',
  'worktrees/create',
  'tui/terminal',
  'tui/diff',
  'campaigns/screen',
  'campaigns/hostile/other-user',
  'providers/codex/turns',
  'campaigns/crash/finish',
  'children/keeper',
  'recovery/killed',
  'providers/codex/requests',
  'terminal/talk',
  'processes/kill',
  'snapshots/snapshots',
  'snapshots/diff',
  'campaigns/processes',
  'campaigns/fanout',
  'terminal/completion',
  'providers/acp/starting',
  'tui/tail',
  'reviews/reviews',
  'cli/talk',
  'providers/acp/settings',
  'acp/agent',
  'cli/mcp-install',
  'terminal/asking',
  'hooks/delivery',
  'terminal/lists',
  'providers/codex/sessions',
  'releases/releases',
  'providers/acp/logging-in',
  'http/streams/kinds',
  'cli/db',
  'teams/spawn',
  'processes/queue',
  'providers/claude/turns',
  'worktrees/session',
  'processes/run',
  'http/connections',
  'cli/run',
  'cli/doctor',
  'runtime/disk',
  'campaigns/orphans',
  'campaigns/service',
  'acp/restart',
  'tui/top',
  'worktrees/init-script',
  'providers/acp/permission',
  'campaigns/tail',
  'processes/again',
  'store/power-loss',
  'processes/notice',
  'worktrees/included',
  'api/events',
  'cli/worktrees',
  'gateway/process-tools',
  'cli/serve',
  'access/tokens',
];

/** Begins with those, and takes the others in the order that vitest finds best. */
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
