import { expect, test, vi } from 'vitest';
import type { Scope } from '../../../src/core/events/event.ts';
import { ItemDeltas } from '../../../src/core/events/item-deltas.ts';
import { EventTrim } from '../../../src/server/maintenance/retention/trim.ts';
import { SessionStore } from '../../../src/server/conversations/sessions/store.ts';
import type { Database } from '../../../src/core/store/database.ts';
import type { Reader } from '../../../src/core/store/transaction.ts';
import { openStore, type TestStore, query, freshStore } from '../../support/store.ts';
import { tempDirectory } from '../../support/temp.ts';
import { aTurn } from '../../support/records.ts';

const bounds = { after: 0, upTo: 100, limit: 10, maxBytes: 1000 };

const scopes: Scope[] = [
  { name: 'session', id: 'a' },
  { name: 'process', id: 'a' },
  { name: 'worktree', id: 'a' },
  { name: 'team', id: 'a' },
];

test('A page of the whole runtime is merged from both tables in key order.', async () => {
  const { store } = await freshStore();
  const plan = planOfPage(store, { name: 'runtime' });
  expect(plan).toContainEqual(expect.stringMatching(/^MERGE \(UNION ALL\)/));
  for (const table of ['events', 'deltas']) {
    expect(plan).toContain(`SEARCH ${table} USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)`);
  }
  expectNoSorting(plan);
});

test.each(scopes)('A page of a $name is merged from both tables by its indexes.', async (scope) => {
  const { store } = await freshStore();
  const plan = planOfPage(store, scope);
  expect(plan).toContainEqual(expect.stringMatching(/^MERGE \(UNION ALL\)/));
  const column = `${scope.name}_id`;
  for (const table of ['events', 'deltas']) {
    const index = `SEARCH ${table} USING INDEX ${table}_${scope.name} (${column}=? AND `;
    expect(plan).toContainEqual(expect.stringContaining(index));
  }
  expectNoSorting(plan);
});

test('A page of some kinds of the whole runtime is merged from the index of each kind.', async () => {
  const { store } = await freshStore();
  const kinds = new Set(['message.delta', 'turn.completed', 'turn.failed']);
  const plan = planOfPage(store, { name: 'runtime', kinds });
  const ofIndex = 'SEARCH events USING INDEX events_kind (kind=? AND seq>? AND seq<?)';
  expect(plan.filter((line) => line.startsWith('SEARCH'))).toEqual([
    ofIndex,
    ofIndex,
    // The log has deltas only of open and newly closed items.
    'SEARCH deltas USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)',
  ]);
  expectNoSorting(plan);
});

test('A page of some kinds of another scope is read like a page of all kinds, within a window.', async () => {
  const { store } = await freshStore();
  const kinds = new Set(['turn.completed', 'turn.failed']);
  for (const scope of scopes) {
    const plan = planOfPage(store, { ...scope, kinds });
    expect(plan).toEqual(planOfPage(store, scope));
  }
});

test('The deltas of an item or a process are found by their session or process, for reads and for removal.', async () => {
  const { store } = await freshStore();
  const sqls = await sqlsOf(store.db, () => new ItemDeltas(store.db));
  expect(sqls.map((sql) => planOf(store.db, sql))).toEqual([
    ['SEARCH deltas USING INDEX deltas_session (session_id=?)'],
    ['SEARCH deltas USING INDEX deltas_process (process_id=?)'],
    ['SEARCH deltas USING INDEX deltas_session (session_id=? AND seq<?)'],
    ['SEARCH deltas USING INDEX deltas_process (process_id=? AND seq<?)'],
  ]);
});

type Read = (sessions: SessionStore, rx: Reader) => unknown;
const reads: [what: string, index: RegExp, read: Read][] = [
  [
    'the turns that have not ended',
    /turns USING INDEX turns_unfinished/,
    (s, rx) => s.unfinishedTurns(rx),
  ],
  ['the open items of a turn', /items USING INDEX items_open/, (s, rx) => s.openItems(rx, 't')],
  ['the open items of no turn', /items USING INDEX items_open/, (s, rx) => s.openAsides(rx)],
  ['the items of a turn', /items USING INDEX items_turn/, (s, rx) => s.itemsOf(rx, 't')],
  [
    'the sessions with an active turn',
    /sessions USING INDEX sessions_active/,
    (s, rx) => s.sessionsWithActiveTurn(rx),
  ],
  ['the sessions at work', /sessions USING INDEX sessions_status/, (s, rx) => s.busySessions(rx)],
];

test.each(reads)('An index finds %s.', async (_what, index, read) => {
  const { store } = await freshStore();
  const [sql] = await sqlsOf(
    store.db,
    () => store.db.peek((rx) => read(sessionStore(store), rx)),
    /WHERE .* ORDER BY n$/,
  );
  const plan = planOf(store.db, sql ?? '');
  expect(plan[0]).toMatch(index);
  expect(plan.filter((line) => line.startsWith('SCAN') && !index.test(line))).toEqual([]);
});

const pages: Record<string, [line: string, read: Read]> = {
  'all sessions': [
    'SEARCH sessions USING INTEGER PRIMARY KEY (rowid<?)',
    (s, rx) => s.sessions.page(rx, {}, 10),
  ],
  'the sessions of a status': [
    'SEARCH sessions USING INDEX sessions_status (status=? AND n<?)',
    (s, rx) => s.sessions.page(rx, { status: 'ready' }, 10),
  ],
  'the sessions of a provider': [
    'SEARCH sessions USING INDEX sessions_provider (provider=? AND n<?)',
    (s, rx) => s.sessions.page(rx, { provider: 'acp' }, 10, '5'),
  ],
  'the turns of a session': [
    'SEARCH turns USING INDEX turns_session (session_id=? AND n<?)',
    (s, rx) => s.turns.page(rx, { session_id: 'a' }, 10),
  ],
};

test.each(Object.entries(pages))(
  'A page of %s is read by its index, newest first.',
  async (_what, [line, read]) => {
    const { store } = await freshStore();
    const [sql] = await sqlsOf(
      store.db,
      () => store.db.peek((rx) => read(sessionStore(store), rx)),
      /ORDER BY n DESC/,
    );
    expect(planOf(store.db, sql ?? '').map(rowidAsColumn)).toEqual([rowidAsColumn(line)]);
  },
);

test('A page of the sessions with a status and a provider uses one of the two indexes.', async () => {
  const { store } = await freshStore();
  const read = () =>
    store.db.peek((rx) =>
      sessionStore(store).sessions.page(rx, { status: 'ready', provider: 'acp' }, 10),
    );
  const [sql] = await sqlsOf(store.db, read, /ORDER BY n DESC/);
  const plan = planOf(store.db, sql ?? '');
  expect(plan[0]).toMatch(/^SEARCH sessions USING INDEX sessions_(status|provider) /);
  expectNoSorting(plan);
});

test.each(['sessions', 'turns', 'items'] as const)(
  'A record of the %s is found by its id.',
  async (table) => {
    const { store } = await freshStore();
    const sqls = await sqlsOf(
      store.db,
      () => store.db.peek((rx) => sessionStore(store)[table].get(rx, 'x')),
      /^[^(]*WHERE id = \?/,
    );
    for (const sql of sqls) expect(planOf(store.db, sql)[0]).toMatch(/^SEARCH .* \(id=\?\)$/);
    expect(sqls.length).toBeGreaterThan(0);
  },
);

/** Returns the plans of the statements that retention prepares and that match. */
async function plansOfTrim(matching: RegExp): Promise<string[][]> {
  await using directory = tempDirectory();
  await using store = await openStore(directory.path);
  const sqls = await sqlsOf(
    store.db,
    () => new EventTrim({ db: store.db, onTrimmed: () => undefined }),
    matching,
  );
  return sqls.map((sql) => planOf(store.db, sql));
}

test.each(['session', 'process'])(
  'Retention finds the events of a %s by their indexes, oldest first.',
  async (name) => {
    const [plan = []] = await plansOfTrim(new RegExp(`WHERE ${name}_id = \\?`));
    expect(plan).toContainEqual(expect.stringMatching(/^MERGE \(UNION ALL\)/));
    for (const table of ['events', 'deltas']) {
      const index = `SEARCH ${table} USING INDEX ${table}_${name} (${name}_id=?)`;
      expect(plan).toContain(index);
    }
    expectNoSorting(plan);
  },
);

test('Retention finds the oldest events by their key, and the session of each by its id.', async () => {
  const [plan = []] = await plansOfTrim(/FROM events AS event/);
  expect(plan[0]).toBe('SEARCH event USING INTEGER PRIMARY KEY (rowid>?)');
  expect(plan.at(-1)).toMatch(/^SEARCH sessions USING INDEX \S+ \(id=\?\)$/);
  expectNoSorting(plan);
});

test('Retention removes each event by its key.', async () => {
  const plans = await plansOfTrim(/^DELETE/);
  const table = (name: string) => [`SEARCH ${name} USING INTEGER PRIMARY KEY (rowid=?)`];
  // The deltas of an item are removed together with the event that closes it.
  const of = (owner: string) => [
    `SEARCH deltas USING INDEX deltas_${owner} (${owner}_id=? AND seq<?)`,
  ];
  expect(plans).toEqual([table('events'), table('deltas'), of('session'), of('process')]);
});

// The index sessions_status has every closed session, including all that were trimmed long ago.
test('Retention finds the oldest closed session with remaining events by a separate index.', async () => {
  const { store } = await freshStore();
  const read = () => store.db.peek((rx) => sessionStore(store).oldestTrimmable(rx, () => true));
  const [sql] = await sqlsOf(store.db, read, /trimmed IS NOT 1/);
  const plan = planOf(store.db, sql ?? '');
  expect(plan).toEqual([expect.stringMatching(/ USING INDEX sessions_trimmable\b/)]);
});

test('Retention finds the turns of a session, and their items, by their indexes.', async () => {
  const { store } = await freshStore();
  const sessions = sessionStore(store);
  await store.db.transact((tx) => sessions.turns.insert(tx, aTurn({ session_id: 'a' })));
  const sqls = await sqlsOf(
    store.db,
    () => store.db.transact((tx) => sessions.trimTurns(tx, 'a', 10)),
    /FROM (turns|items) (INDEXED|WHERE)/,
  );
  expect(sqls.map((sql) => planOf(store.db, sql).map(rowidAsColumn))).toEqual([
    ['SEARCH turns USING INDEX turns_trimmable (session_id=?)'],
    ['SEARCH items USING INDEX items_turn (turn_id=?)'],
  ]);
});

function sessionStore({ db, log }: TestStore): SessionStore {
  return new SessionStore({ db, log });
}

/** Returns SQLite's plan for the page query of a scope. */
function planOfPage(store: TestStore, scope: Scope): string[] {
  using prepare = vi.spyOn(store.db, 'prepare');
  store.log.page(scope, bounds, () => undefined);
  const [sql] = prepare.mock.calls[0] ?? [];
  return planOf(store.db, sql ?? '');
}

/** Returns the statements that `work` prepares and that match. */
async function sqlsOf(db: Database, work: () => unknown, matching = /./): Promise<string[]> {
  using prepare = vi.spyOn(db, 'prepare');
  await work();
  return prepare.mock.calls.map(([sql]) => sql).filter((sql) => matching.test(sql));
}

function planOf(db: Database, sql: string): string[] {
  type PlanRow = [id: number, parent: number, unused: number, detail: string];
  return query<PlanRow>(db, `EXPLAIN QUERY PLAN ${sql}`).map(([, , , detail]) => detail);
}

function expectNoSorting(plan: string[]): void {
  expect(plan.filter((line) => /TEMP B-TREE|^SCAN/.test(line))).toEqual([]);
}

/** SQLite prints the key under either name. */
function rowidAsColumn(line: string): string {
  return line.replace('rowid', 'n');
}
