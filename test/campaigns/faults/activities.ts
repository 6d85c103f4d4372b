import type { Receiver } from '../../support/hooks/receiver.ts';
import { ApprovalStory } from './activities/approvals.ts';
import { BudgetStory } from './activities/budgets.ts';
import { HookStory } from './activities/hooks.ts';
import { ProcessStory } from './activities/processes.ts';
import { QueueStory } from './activities/queue.ts';
import { SnapshotStory } from './activities/snapshots.ts';
import { TeamStory } from './activities/teams.ts';
import { TurnStory } from './activities/turns.ts';
import { WorktreeStory } from './activities/worktrees.ts';
import type { Story, World } from './activity.ts';

export type { TurnStory };

/** The stories of all features. */
export function makeStories(
  world: World,
  receiver: Receiver,
): { stories: Story[]; turns: TurnStory } {
  const own = () => ({ ...world, random: world.random.fork() });
  const turns = new TurnStory(own());
  const stories = [
    turns,
    new ApprovalStory(own()),
    new QueueStory(own()),
    new TeamStory(own()),
    new BudgetStory(own()),
    new ProcessStory(own()),
    new WorktreeStory(own()),
    new SnapshotStory(own()),
    new HookStory(own(), receiver),
  ];
  return { stories, turns };
}
