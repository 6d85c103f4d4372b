import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { z } from 'zod';
import { Database } from '../../../src/core/store/database.ts';
import { Statement } from '../../../src/core/store/statement.ts';
import { atLength } from '../../support/at-length.ts';
import { apiOf, table } from '../../support/http/request.ts';
import { leaveBehind } from '../../support/recovery/records.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { withRuntime } from '../../support/runtime.ts';
import { completed, scriptedProvider } from '../../support/scripted-provider.ts';
import { openStore, query } from '../../support/store.ts';
import { tempDirectory } from '../../support/temp.ts';
import { anApproval, anItem, aSession, aTurn } from '../../support/records.ts';

/** Tables and indexes that do not grow with the log, with the reason. */
const small: Record<string, string> = {
  sequence: 'one row',
  sqlite_schema: 'a row a table or index',
  pragma_table_info: 'a row a column',
  children: 'what ran when the last server ended',
  approval_rules: 'at most 1000, and all of them are kept in memory',
  budgets: 'at most 1000, and few people have more than three',
  tokens: 'at most 1000, and all of them are kept in memory',
  sessions_active: 'the sessions at work',
  worktree_claims_active: 'the claims that hold',
  worktree_operations: 'what git is doing',
  worktrees_cleanup_due: 'cleanups that a crash has cut off',
  inbox: 'what sessions have not been told of yet',
  holds: 'sessions whose next turn does not start',
  queue_entries: 'at most 1000, which have not become their last turn',
  team_spawns: 'members that are being spawned',
};

let ran: Ran;

beforeEach(() => {
  ran = new Ran();
});
afterEach(() => {
  vi.restoreAllMocks();
});

test('No statement of a start scans a table that grows with the log.', () =>
  onLeftovers(async (directory) => {
    let atStart: string[] = [];
    await runOn(directory, async () => {
      atStart = ran.take();
    });
    expect(atStart.filter((sql) => sql.includes('FROM sessions'))).not.toEqual([]);
    expect(atStart.filter((sql) => sql.includes('FROM turns'))).not.toEqual([]);
    expect(await scansOf(directory, atStart)).toEqual([]);
  }));

test('No statement of a first page scans a table that grows with the log, whatever its filters.', () =>
  onLeftovers(async (directory) => {
    const byRequest = new Map<string, string[]>();
    await runOn(directory, async (given) => {
      const api = apiOf(given);
      ran.take();
      for (const path of firstPages()) {
        const { status } = await api('GET', path);
        expect([200, 404], `GET ${path}`).toContain(status);
        byRequest.set(path, ran.take());
      }
    });
    for (const path of ['/v1/events', '/v1/sessions', '/v1/sessions/sess_busy/turns'])
      expect(byRequest.get(path), `GET ${path}`).not.toEqual([]);
    const seen = new Set<string>();
    for (const [path, sqls] of byRequest) {
      const fresh = sqls.filter((sql) => !seen.has(sql));
      for (const sql of fresh) seen.add(sql);
      if (fresh.length > 0) expect(await scansOf(directory, fresh), `GET ${path}`).toEqual([]);
    }
  }));

/** Collects the SQL of all statements that run. */
class Ran {
  #sqls = new Set<string>();
  readonly #sqlOf = new WeakMap<object, string>();

  constructor() {
    const { prepare } = Database.prototype;
    const prepared = (statement: object, sql: string) => this.#sqlOf.set(statement, sql);
    vi.spyOn(Database.prototype, 'prepare').mockImplementation(function (this: Database, sql) {
      const statement = prepare.call(this, sql);
      prepared(statement, sql);
      return statement;
    });
    for (const method of ['run', 'get', 'all', 'scan'] as const) this.#watch(method);
  }

  /** Returns the statements since the last call. */
  take(): string[] {
    const taken = [...this.#sqls];
    this.#sqls = new Set();
    return taken;
  }

  #watch(method: 'run' | 'get' | 'all' | 'scan'): void {
    const original = Statement.prototype[method] as (...values: unknown[]) => unknown;
    const isRun = (statement: object) => this.#sqls.add(this.#sqlOf.get(statement) ?? '');
    const watched = function (this: Statement, ...values: unknown[]) {
      isRun(this);
      return original.apply(this, values);
    };
    vi.spyOn(Statement.prototype, method).mockImplementation(watched as never);
  }
}

/** Runs `test` on the directory of a killed server. */
async function onLeftovers(test: (directory: string) => Promise<void>): Promise<void> {
  await using directory = tempDirectory();
  await leaveBehind(directory.path, (tx, store, log) => {
    const busy = { session_id: 'sess_busy', status: 'running' as const };
    const waiting = { session_id: 'sess_waiting', status: 'waiting_for_approval' as const };
    const seen = { provider_session_ref: 'ref' };
    store.createSession(tx, aSession({ id: 'sess_ready', ...seen }));
    store.createSession(tx, aSession({ id: 'sess_closed', status: 'closed', closed_at: 1 }));
    for (const { session_id: id, status } of [busy, waiting])
      store.createSession(tx, aSession({ id, status, active_turn_id: `turn_of_${id}`, ...seen }));
    for (const turn of [busy, waiting])
      store.turns.insert(tx, aTurn({ ...turn, turn_id: `turn_of_${turn.session_id}` }));
    const item = anItem({ session_id: 'sess_busy', turn_id: 'turn_of_sess_busy' });
    store.items.insert(tx, item);
    const payload = { item_id: item.item_id, offset: 0, text: 'so far' };
    log.append(tx, {
      kind: 'message.delta',
      session_id: 'sess_busy',
      turn_id: item.turn_id,
      payload,
    });
    const approval = { session_id: 'sess_waiting', turn_id: 'turn_of_sess_waiting' };
    store.approvals.insert(tx, anApproval(approval));
  });
  await test(directory.path);
}

function runOn(directory: string, test: Parameters<typeof withRuntime>[0]): Promise<unknown> {
  const providers = [scriptedProvider((turn) => turn.end(completed))];
  // The clock stands still, so that the periodic compaction does not run.
  return withRuntime(test, { directory, providers, clock: new ManualClock(Date.now()) });
}

/** Returns the path of each list and replay, with combinations of its filters. */
function firstPages(): string[] {
  const lists = table.filter(
    ({ endpoint: { method, answers, response } }) =>
      method === 'GET' && answers === 'json' && response instanceof z.ZodArray,
  );
  return lists.flatMap(({ endpoint }) => {
    const path = endpoint.path.replaceAll(/\{(\w+)\}/g, (_match, name: string) => sample(name));
    // The filter by agent name does not filter rows.
    const fields = Object.entries(endpoint.query).filter(
      ([name]) => name !== 'limit' && name !== 'agent',
    );
    return choicesOf(fields).map((chosen) => {
      const query = new URLSearchParams(
        chosen.map(([name, schema]): [string, string] => [
          name,
          optionsOf(schema)[0] ?? sample(name),
        ]),
      );
      return query.size > 0 ? `${path}?${query.toString()}` : path;
    });
  });
}

/** Returns a sample value for a name, or a value that matches no record. */
function sample(name: string): string {
  return samples[name] ?? 'none';
}

const samples: Record<string, string> = {
  cwd: '/none',
  session_id: 'sess_busy',
  since: '1',
  turn_id: 'turn_of_sess_busy',
  provider: 'acp',
  kind: 'turn.*',
  after_seq: '1',
  cursor: '1000',
};

function optionsOf(schema: z.ZodType): string[] {
  return (z.toJSONSchema(schema).enum ?? []) as string[];
}

/** Returns no element of a list, each element alone, and all; in the campaigns, all other subsets too. */
function choicesOf<T>(list: readonly T[]): T[][] {
  const between = atLength(0, list.length, list.length);
  return partsOf(list).filter(
    ({ length }) => length <= 1 || length <= between || length === list.length,
  );
}

function partsOf<T>([first, ...rest]: readonly T[]): T[][] {
  if (first === undefined) return [[]];
  return partsOf(rest).flatMap((chosen) => [chosen, [first, ...chosen]]);
}

/** Returns the lines of the plans that scan a growing table or index, each with its statement. */
async function scansOf(directory: string, sqls: readonly string[]): Promise<string[]> {
  await using store = await openStore(directory);
  const isQuery = (sql: string) => /^\s*(SELECT|INSERT|UPDATE|DELETE)\b/.test(sql);
  return sqls.filter(isQuery).flatMap((sql) => {
    const plan = planOf(store.db, sql);
    return plan.filter((line) => isScan(line, sql, plan)).map((line) => `${line}: ${sql}`);
  });
}

function isScan(line: string, sql: string, plan: readonly string[]): boolean {
  const [, name = '', index = name] = /^SCAN (\w+)(?:.* INDEX (\w+))?/.exec(line) ?? [];
  if (name === '' || name in small || index in small) return false;
  const isSorted = plan.some((step) => step.includes('TEMP B-TREE'));
  const isBounded = /\bLIMIT\b/.test(sql) && !/\bWHERE\b/.test(sql) && !isSorted;
  return !isBounded;
}

function planOf(db: Database, sql: string): string[] {
  type PlanRow = [id: number, parent: number, unused: number, detail: string];
  return query<PlanRow>(db, `EXPLAIN QUERY PLAN ${sql}`).map(([, , , detail]) => detail);
}
