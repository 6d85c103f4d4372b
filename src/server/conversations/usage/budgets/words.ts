import type { Budget } from '../../../../api/budgets.ts';

/** Returns the name of a budget in texts for people: `team "shop" for today`. `name`: of its session or team. */
export function labelOf(
  { session_id, team_id, time_zone }: Pick<Budget, 'session_id' | 'team_id' | 'time_zone'>,
  name: string | null,
): string {
  const day = time_zone === null ? '' : ' for today';
  const id = session_id ?? team_id;
  if (id === null) return `all sessions${day}`;
  const what = session_id === null ? 'team' : 'session';
  return `${what} ${name === null ? id : `"${name}"`}${day}`;
}
