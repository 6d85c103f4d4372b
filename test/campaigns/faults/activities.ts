import type { Receiver } from '../../support/hooks/receiver.ts';
import { ApprovalActivity } from './activities/approvals.ts';
import { BudgetActivity } from './activities/budgets.ts';
import { HookActivity } from './activities/hooks.ts';
import { ProcessActivity } from './activities/processes.ts';
import { QueueActivity } from './activities/queue.ts';
import { SnapshotActivity } from './activities/snapshots.ts';
import { TeamActivity } from './activities/teams.ts';
import { TurnActivity } from './activities/turns.ts';
import { WorktreeActivity } from './activities/worktrees.ts';
import type { Activity, ActivityContext } from './activity.ts';

export type { TurnActivity };

/** The activities of all features. */
export function makeActivities(
  context: ActivityContext,
  receiver: Receiver,
): { activities: Activity[]; turns: TurnActivity } {
  const own = () => ({ ...context, random: context.random.fork() });
  const turns = new TurnActivity(own());
  const activities = [
    turns,
    new ApprovalActivity(own()),
    new QueueActivity(own()),
    new TeamActivity(own()),
    new BudgetActivity(own()),
    new ProcessActivity(own()),
    new WorktreeActivity(own()),
    new SnapshotActivity(own()),
    new HookActivity(own(), receiver),
  ];
  return { activities, turns };
}
