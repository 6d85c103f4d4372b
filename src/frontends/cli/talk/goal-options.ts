import type { Command } from 'commander';
import type { BodyInputOf } from '../../../api/endpoint.ts';
import { usageError } from '../../../api/errors.ts';
import { goalLimits } from '../../../api/goals.ts';
import type { endpoints } from '../../../api/index.ts';
import { count } from '../count.ts';
import { milliseconds } from '../milliseconds.ts';

/** The options of the commands that set a goal. */
export interface GoalOptions {
  max?: number;
  /** In ms. */
  checkTimeout?: number;
  /** In ms. */
  within?: number;
}

/** Adds these options to a command. `needs` names the option that they require. */
export function withGoalOptions(command: Command, needs = ''): Command {
  return command
    .option(
      '--max <n>',
      `Maximum number of checks (default ${goalLimits.defaultRounds}${needs})`,
      count,
    )
    .option(
      '--check-timeout <duration>',
      `Time limit of each check, such as 90s (default 10m${needs})`,
      milliseconds,
    )
    .option(
      '--within <duration>',
      `Time after which no further turn follows a failed check (default: no limit${needs})`,
      milliseconds,
    );
}

/** Returns the request for a goal. */
export function goalBody(
  command: string,
  { max, checkTimeout, within }: GoalOptions,
): BodyInputOf<typeof endpoints.setGoal> {
  return { command, max_rounds: max, check_timeout_ms: checkTimeout, within_ms: within };
}

/** Throws `usage` if there is an option of a goal, but no goal. */
export function assertNoGoalOptions(options: GoalOptions, needs: string): void {
  const extra = (['max', 'checkTimeout', 'within'] as const).find(
    (one) => options[one] !== undefined,
  );
  const name = extra === 'checkTimeout' ? 'check-timeout' : extra;
  if (name !== undefined) throw usageError(`--${name} requires ${needs}`);
}
