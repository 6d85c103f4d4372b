import type { BodyInputOf } from '../../../api/endpoint.ts';
import { usageError } from '../../../api/errors.ts';
import { type Goal, goalLimits } from '../../../api/goals.ts';
import { endpoints } from '../../../api/index.ts';
import { clientCommand } from '../command.ts';
import { count, milliseconds } from '../option-values.ts';
import { sessionArgument, sessionId } from '../find.ts';
import { goalText } from '../goal-text.ts';
import { plain } from '../output.ts';

interface UntilOptions extends GoalOptions {
  cancel?: boolean;
}

export const sessionUntil = clientCommand({
  name: 'until',
  description:
    'Set a goal: a command that is checked after each turn until it passes (shows the goal without a command)',
  parameters: [
    sessionArgument,
    '[command]  Shell command line that passes with exit code 0, such as "npm test"',
    ...goalOptions(),
    '--cancel  Cancel the goal of the session, and kill a running check',
  ],
  async run({ client, show }, said: string, command: string | undefined, options: UntilOptions) {
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
  },
});

export interface GoalOptions {
  max?: number;
  /** In ms. */
  checkTimeout?: number;
  /** In ms. */
  within?: number;
}

/** These options. `needs` names the option that they require. */
export function goalOptions(needs = '') {
  return [
    {
      line: `--max <n>  Maximum number of checks (default ${goalLimits.defaultRounds}${needs})`,
      parse: count,
    },
    {
      line: `--check-timeout <duration>  Time limit of each check, such as 90s (default 10m${needs})`,
      parse: milliseconds,
    },
    {
      line: `--within <duration>  Time after which no further turn follows a failed check (default: no limit${needs})`,
      parse: milliseconds,
    },
  ];
}

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
