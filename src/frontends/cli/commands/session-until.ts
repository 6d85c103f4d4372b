import type { Command } from 'commander';
import { usageError } from '../../../api/errors.ts';
import type { Goal } from '../../../api/goals.ts';
import { endpoints } from '../../../api/index.ts';
import { sessionArgument, sessionId } from '../find.ts';
import { goalText } from '../goal-text.ts';
import { plain } from '../output.ts';
import {
  assertNoGoalOptions,
  goalBody,
  type GoalOptions,
  withGoalOptions,
} from '../talk/goal-options.ts';
import { clientAction, type CommandContext, type World } from '../world.ts';

interface UntilOptions extends GoalOptions {
  cancel?: boolean;
}

/** `cadre sessions until`. */
export function sessionUntil(sessions: Command, world: World): void {
  const command = sessions
    .command('until')
    .description(
      'Set a goal: a command that is checked after each turn until it passes (shows the goal without a command)',
    )
    .argument(...sessionArgument)
    .argument('[command]', 'Shell command line that passes with exit code 0, such as "npm test"');
  withGoalOptions(command)
    .option('--cancel', 'Cancel the goal of the session, and kill a running check')
    .action(clientAction(world, until));
}

async function until(
  { client, show }: CommandContext,
  said: string,
  command: string | undefined,
  options: UntilOptions,
): Promise<void> {
  if (command !== undefined && options.cancel)
    throw usageError('pass either a command or --cancel, not both');
  if (command === undefined) assertNoGoalOptions(options, 'a command to check');
  const params = { session_id: await sessionId(client, said) };
  const call = (): Promise<Goal> => {
    if (options.cancel) return client.call(endpoints.cancelGoal, { params });
    if (command === undefined) return client.call(endpoints.getGoal, { params });
    const body = { ...goalBody(command, options), check_now: true };
    return client.call(endpoints.setGoal, { params, body });
  };
  const goal = await call();
  show(goal, () => `${plain(goalText(goal))}\n`);
}
