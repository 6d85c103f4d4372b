import type { Receiver } from '../../support/hooks/receiver.ts';
import { ApprovalStory } from './stories/approvals.ts';
import { BudgetStory } from './stories/budgets.ts';
import { HookStory } from './stories/hooks.ts';
import { ProcessStory } from './stories/processes.ts';
import { QueueStory } from './stories/queue.ts';
import { SnapshotStory } from './stories/snapshots.ts';
import { TeamStory } from './stories/teams.ts';
import { TurnStory } from './stories/turns.ts';
import { WorktreeStory } from './stories/worktrees.ts';
import type { Story, World } from './story.ts';

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
