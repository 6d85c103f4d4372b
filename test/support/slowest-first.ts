import { BaseSequencer, type TestSpecification } from 'vitest/node';

/**
 * The files that take longest, each some seconds: begun last, one would run alone at the end. Those that start git most
 * are first, while no worker has grown.
 */
const SLOWEST = [
  'worktrees/concurrent',
  'worktrees/restore',
  'worktrees/cleanup',
  'worktrees/hostile',
  'gateway/cells',
  'worktrees/create',
  'sessions/idempotency',
  'worktrees/session',
  'worktrees/init-script',
  'worktrees/odd',
  'worktrees/property',
  'worktrees/crash',
  'providers/demo-agent',
  'providers/acp/resuming',
  'tui/day',
  'campaigns/fanout',
  'campaigns/hostile/other-user',
  'campaigns/crash/crash',
  'campaigns/orphans',
  'campaigns/processes',
  'campaigns/teams',
  'cli/commands',
  'cli/run',
  'cli/talk',
  'cli/db',
  'children/keeper',
  'acp/restart',
  'processes/restart',
  'recovery/killed',
  'access/attacker',
  'http/endpoints',
  'tui/tail',
  'tui/terminal',
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
