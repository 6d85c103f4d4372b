import type { Session, Turn, Usage } from '../../../api/sessions.ts';
import { saturatingSum } from '../../../core/lib/reported-numbers.ts';
import type { UsageSums } from '../../../core/lib/usage-sums.ts';
import type { Database } from '../../../core/store/database.ts';
import type { Statement } from '../../../core/store/statement.ts';
import type { Reader, Writer } from '../../../core/store/transaction.ts';

export type UsageKey = 'all' | 'session' | 'provider' | 'team';

/** Sums of usage with what they are of. `second` is the agent, where the provider names agents. */
export type KeyedSums = { key: string | null; second: string | null } & UsageSums;

/** A session, a team, or, with two nulls, all sessions. */
interface UsageOwner {
  session_id: string | null;
  team_id: string | null;
}

type SumRow = [
  turns: number,
  input: number | null,
  output: number | null,
  cached: number | null,
  total: number | null,
  cost: number | null,
  withTokens: number,
  withCost: number,
];
type KeyedRow = [key: string | null, second: string | null, ...SumRow];

/** The fields of the usage of a turn that sums of usage have too. */
export const summedFields = [
  'input_tokens',
  'output_tokens',
  'cached_input_tokens',
  'total_tokens',
  'cost_usd',
] as const;

/** Earlier builds stored numbers out of range: these are not known. A sum of reals cannot overflow. */
const known = (column: string) =>
  `iif(${column} BETWEEN 0 AND ${Number.MAX_SAFE_INTEGER}, ${column} * 1.0, NULL)`;
const sums = summedFields.map((column) => `sum(${known(column)})`).join(', ');
const SUMS = `count(*), ${sums}, count(${known('total_tokens')}), count(${known('cost_usd')})`;

/** The usage of turns: one row for each turn that an agent has seen, written in the transaction that ends the turn. */
export class TurnUsage {
  readonly #add: Statement;
  readonly #amend: Statement;
  readonly #teams: Statement<[string | null]>;
  readonly #first: Statement<[number | null]>;
  readonly #keyed: Record<UsageKey, Statement<KeyedRow>>;
  readonly #ofSession: Statement<SumRow>;
  readonly #ofTeam: Statement<SumRow>;
  readonly #ofAll: Statement<SumRow>;
  readonly #lastOfSession: Statement<[turnId: string]>;
  readonly #lastOfTeam: Statement<[turnId: string]>;
  readonly #lastOfAll: Statement<[turnId: string]>;

  constructor(db: Database) {
    this.#add = db.prepare(
      `INSERT INTO turn_usage VALUES (?, ?, ?, ?, ?,
       CASE WHEN EXISTS (SELECT 1 FROM team_members WHERE agent_id = ?3) THEN
         (SELECT nullif(json_group_array(team_members.team_id), '[]') FROM team_members
           JOIN teams ON teams.id = team_members.team_id
           WHERE team_members.agent_id = ?3 AND teams.record ->> '$.deleted_at' IS NULL)
       END,
       ?, ?, ?, ?, ?)`,
    );
    this.#amend = db.prepare(
      `UPDATE turn_usage SET input_tokens = ?, output_tokens = ?, cached_input_tokens = ?, total_tokens = ?,
       cost_usd = ? WHERE ended_at = ? AND turn_id = ?`,
    );
    this.#teams = db.prepare('SELECT teams FROM turn_usage WHERE ended_at = ? AND turn_id = ?');
    this.#first = db.prepare('SELECT min(ended_at) FROM turn_usage WHERE ended_at >= ?');
    const keyed = (key: string, from = 'turn_usage') =>
      db.prepare<KeyedRow>(
        `SELECT ${key}, ${SUMS} FROM ${from} WHERE ended_at >= ? AND ended_at < ? GROUP BY 1, 2`,
      );
    this.#keyed = {
      all: keyed('NULL, NULL'),
      session: keyed('session_id, NULL'),
      provider: keyed('provider, agent'),
      team: keyed(
        'one.value, NULL',
        "turn_usage LEFT JOIN json_each(coalesce(teams, '[]')) AS one",
      ),
    };
    this.#ofSession = db.prepare(
      `SELECT ${SUMS} FROM turns CROSS JOIN turn_usage
       ON turn_usage.ended_at = turns.record ->> '$.ended_at' AND turn_usage.turn_id = turns.id
       WHERE turns.session_id = ? AND turn_usage.ended_at >= ?`,
    );
    const team =
      'FROM turn_usage INDEXED BY turn_usage_teams WHERE teams IS NOT NULL AND instr(teams, ?) > 0';
    this.#ofTeam = db.prepare(`SELECT ${SUMS} ${team} AND ended_at >= ?`);
    this.#ofAll = db.prepare(`SELECT ${SUMS} FROM turn_usage WHERE ended_at >= ?`);
    const last = 'ORDER BY ended_at DESC, turn_id DESC LIMIT 1';
    this.#lastOfSession = db.prepare(
      `SELECT id FROM turns WHERE session_id = ? AND record ->> '$.started_at' IS NOT NULL
       AND record ->> '$.ended_at' IS NOT NULL ORDER BY turns.n DESC LIMIT 1`,
    );
    this.#lastOfTeam = db.prepare(`SELECT turn_id ${team} ${last}`);
    this.#lastOfAll = db.prepare(`SELECT turn_id FROM turn_usage ${last}`);
  }

  /** Must be called once for each turn that has ended, with its session. A turn that no agent has seen is left out. */
  add(tx: Writer, { id, provider, agent }: Session, turn: Turn): void {
    if (turn.started_at === null) return;
    this.#add.run(tx, turn.ended_at, turn.turn_id, id, provider, agent, ...numbersOf(turn.usage));
  }

  amend(tx: Writer, { ended_at, turn_id, usage }: Turn): void {
    this.#amend.run(tx, ...numbersOf(usage), ended_at, turn_id);
  }

  /** Returns the teams that the session of a turn was in when the turn ended. */
  teamsAt(rx: Reader, { ended_at, turn_id }: Turn): string[] {
    return JSON.parse(this.#teams.get(rx, ended_at, turn_id)?.[0] ?? '[]') as string[];
  }

  /** Returns when the first turn at or after a moment ended; null: none did. */
  firstFrom(rx: Reader, moment: number): number | null {
    return this.#first.get(rx, moment)?.[0] ?? null;
  }

  /** Returns the sums of the turns that ended from `from` on and before `to`. A turn of two teams is in the sums of both. */
  sums(rx: Reader, by: UsageKey, from: number, to: number): KeyedSums[] {
    return this.#keyed[by]
      .all(rx, from, to)
      .filter(([, , turns]) => turns > 0)
      .map(([key, second, ...row]) => ({ key, second, ...sumsOf(row) }));
  }

  /** Returns the sums of the turns of a session, a team or all sessions that ended from `since` on. */
  sumOf(rx: Reader, { session_id, team_id }: UsageOwner, since: number): UsageSums {
    const row =
      session_id !== null
        ? this.#ofSession.get(rx, session_id, since)
        : team_id !== null
          ? this.#ofTeam.get(rx, team_id, since)
          : this.#ofAll.get(rx, since);
    return sumsOf(row ?? [0, null, null, null, null, null, 0, 0]);
  }

  /** Returns the id of the turn of a session, a team or all sessions that ended last; undefined: none did. */
  last(rx: Reader, { session_id, team_id }: UsageOwner): string | undefined {
    if (session_id !== null) return this.#lastOfSession.get(rx, session_id)?.[0];
    return (team_id === null ? this.#lastOfAll.get(rx) : this.#lastOfTeam.get(rx, team_id))?.[0];
  }
}

/** The tokens of a turn as budgets and sums count them, with cached tokens; null if its agent reported none. */
export function tokensOf(usage: Usage | null): number | null {
  if (!usage) return null;
  const { total_tokens: total, input_tokens: input, output_tokens: output } = usage;
  if (total !== null) return total;
  return input === null && output === null
    ? null
    : (input ?? 0) + (output ?? 0) + (usage.cached_input_tokens ?? 0);
}

function numbersOf(usage: Usage | null) {
  return [
    usage?.input_tokens ?? null,
    usage?.output_tokens ?? null,
    usage?.cached_input_tokens ?? null,
    tokensOf(usage),
    usage?.cost_usd ?? null,
  ];
}

function sumsOf(row: SumRow): UsageSums {
  const [turns, input, output, cached, total, cost, withTokens, withCost] = row;
  return {
    turns,
    input_tokens: saturated(input),
    output_tokens: saturated(output),
    cached_input_tokens: saturated(cached),
    total_tokens: saturated(total),
    cost_usd: saturated(cost),
    turns_without_tokens: turns - withTokens,
    turns_without_cost: turns - withCost,
  };
}

function saturated(sum: number | null): number | null {
  return sum === null ? null : saturatingSum(sum, 0);
}
