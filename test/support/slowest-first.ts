import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** The files that take longest, each some seconds: begun last, one would run alone at the end. */
const SLOWEST = [
  'providers/demo-agent',
  'worktrees/concurrent',
  'providers/acp/resuming',
  'sessions/idempotency',
  'worktrees/restore',
  'worktrees/property',
  'worktrees/hostile',
  'worktrees/create',
  'worktrees/crash',
  'worktrees/cleanup',
  'campaigns/crash/crash',
  'campaigns/fanout',
  'campaigns/orphans',
  'cli/commands',
  'cli/run',
  'gateway/cells',
  'campaigns/teams',
  'children/keeper',
  'cli/db',
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
