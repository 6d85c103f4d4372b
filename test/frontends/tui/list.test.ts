import { expect, test } from 'vitest';
import { ListState } from '../../../src/frontends/tui/list/list-state.ts';
import { layout, shares } from '../../../src/frontends/tui/list/layout.ts';
import { containsText, rowTextOf } from '../../../src/frontends/tui/list/row-text.ts';
import {
  orders,
  countsOf,
  sectionsOf,
  type ListSettings,
} from '../../../src/frontends/tui/list/sections.ts';
import { itemStatusOf, listItemsOf } from '../../../src/frontends/tui/list/list-items.ts';
import type { Overview } from '../../../src/frontends/tui/overview.ts';
import { Observable } from '../../../src/frontends/tui/observable.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { approval, NOW, overviewOf, process, session } from './list-records.ts';

const settings: ListSettings = {
  tab: 'all',
  order: 'stable',
  filter: '',
  folded: new Set(['ended']),
  kept: new Set(),
};

/** The ids in each section. */
function ids(overview: Overview, more: Partial<ListSettings> = {}): Record<string, string[]> {
  const sections = sectionsOf(listItemsOf(overview), { ...settings, ...more }, NOW);
  return Object.fromEntries(
    sections.map(({ name, items, isFolded }) => [name, isFolded ? [] : items.map(({ id }) => id)]),
  );
}

const busy = overviewOf({
  sessions: [
    session('idle', 50),
    session('done', 40, { status: 'closed' }),
    session('runs', 30, { status: 'running' }),
    session('news', 20, { news_seq: 7, seen_seq: 3 }),
    session('broken', 10, { status: 'failed' }),
    session('asks', 60, { status: 'waiting_for_approval' }),
    session('sleeps', 5, { snoozed_until: NOW + 1000, news_seq: 9 }),
  ],
  approvals: [approval('old', 'asks', 9), approval('new', 'asks', 1)],
  processes: [process('p', 2), process('q', 300, { status: 'completed', ended_at: NOW - 9e6 })],
  teams: ['shop'],
});

test('The list has fixed sections for approvals, sessions, processes and teams.', () => {
  expect(ids(busy)).toEqual({
    'needs approval': ['old', 'new'],
    sessions: ['broken', 'news', 'runs', 'idle', 'asks'],
    snoozed: ['sleeps'],
    processes: ['p'],
    teams: ['team_shop'],
    ended: [],
  });
});

test('The list has two orders: by creation, and by attention with the longest wait first.', () => {
  expect(ids(busy, { order: 'attention' }).sessions).toEqual([
    'asks',
    'broken',
    'news',
    'runs',
    'idle',
  ]);
  const waiting = [3, 9, 5].map((minutes) => session(`s${minutes}`, minutes, { news_seq: 1 }));
  const overview = overviewOf({ sessions: waiting });
  expect(ids(overview).sessions).toEqual(['s3', 's5', 's9']);
  expect(ids(overview, { order: 'attention' }).sessions).toEqual(['s9', 's5', 's3']);
});

test('Two more orders sort by the last activity, and by title as people count.', () => {
  const named = (id: string, minutes: number, title: string) => session(id, minutes, { title });
  const overview = overviewOf({
    sessions: [named('a', 3, 'job 10'), named('b', 1, 'job 9'), named('c', 2, 'a task')],
  });
  expect(ids(overview, { order: 'activity' }).sessions).toEqual(['b', 'c', 'a']);
  expect(ids(overview, { order: 'title' }).sessions).toEqual(['c', 'b', 'a']);
});

test('Pinned sessions are first in all orders.', () => {
  const overview = overviewOf({
    sessions: [session('old', 9, { pinned: true }), session('new', 1, { status: 'failed' })],
  });
  for (const order of orders) expect(ids(overview, { order }).sessions).toEqual(['old', 'new']);
});

test('Each tab shows its rows and their number.', () => {
  expect(Object.values(ids(busy, { tab: 'needs you' })).flat()).toEqual([
    'old',
    'new',
    'broken',
    'news',
  ]);
  expect(Object.values(ids(busy, { tab: 'running' })).flat()).toEqual(['runs', 'p']);
  expect(Object.values(ids(busy, { tab: 'idle' })).flat()).toEqual(['idle', 'sleeps']);
  expect(Object.values(ids(busy, { tab: 'ended' })).flat()).toEqual(['done', 'q']);
  // A waiting session is listed and counted through its approvals, and a team belongs to no filter.
  expect(countsOf(listItemsOf(busy), NOW)).toEqual({
    'needs you': 4,
    running: 2,
    idle: 2,
    ended: 2,
    all: 10,
  });
});

test('The number of a tab is the number of its rows, and an approval without its session is a row of all.', () => {
  const lone = overviewOf({ approvals: [approval('lone', 'elsewhere', 1)] });
  for (const overview of [busy, lone])
    for (const tab of ['needs you', 'running', 'idle', 'ended'] as const)
      expect(Object.values(ids(overview, { tab })).flat()).toHaveLength(
        countsOf(listItemsOf(overview), NOW)[tab],
      );
  expect(countsOf(listItemsOf(lone), NOW).all).toBe(1);
});

test('Processes that run are above those that ended, in both orders.', () => {
  const ended = { status: 'completed', ended_at: NOW } as const;
  const processes = [process('new', 1, ended), process('old', 9), process('older', 10, ended)];
  for (const order of ['stable', 'attention'] as const)
    expect(ids(overviewOf({ processes }), { order }).processes).toEqual(['old', 'new', 'older']);
});

test('A process that ended folds away after a minute, also one that failed.', () => {
  const ends = { ended_at: NOW - 59_000 };
  const overview = (by: number) =>
    overviewOf({
      processes: [
        process('good', 9, { status: 'completed', ended_at: ends.ended_at - by }),
        process('bad', 9, { status: 'failed', ended_at: ends.ended_at - by }),
      ],
    });
  expect(ids(overview(0))).toEqual({ processes: ['good', 'bad'] });
  expect(ids(overview(2000))).toEqual({ ended: [] });
});

test('A failed turn needs a person until its session was seen, and its row keeps the reason.', () => {
  const boom = {
    last_turn_status: 'failed',
    last_turn_error: { code: 'agent_error', message: 'boom' },
    last_words: 'I begin',
    news_seq: 7,
  } as const;
  const overview = overviewOf({
    sessions: [session('new', 1, boom), session('seen', 2, { ...boom, seen_seq: 7 })],
  });
  const rows = listItemsOf(overview).map((item) => rowTextOf(item, NOW));
  expect(rows.map(({ symbol, words }) => [symbol, words])).toEqual([
    ['✗', 'failed: boom'],
    ['○', 'failed: boom'],
  ]);
  expect(ids(overview, { tab: 'needs you' })).toEqual({ sessions: ['new'] });
});

test('A snoozed session wakes at its time, and at once if it waits for an approval.', () => {
  const [item] = listItemsOf(overviewOf({ sessions: [session('s', 1, { snoozed_until: NOW })] }));
  if (!item) throw new Error('no item');
  expect(itemStatusOf(item, NOW - 1)).toBe('snoozed');
  expect(itemStatusOf(item, NOW)).toBe('idle');
  const asks = session('s', 1, { snoozed_until: NOW, status: 'waiting_for_approval' });
  const [asking] = listItemsOf(overviewOf({ sessions: [asks] }));
  expect(asking && itemStatusOf(asking, NOW - 1)).toBe('waiting');
});

test('The filter finds a title, an id, a directory and the last words, also in collapsed sections.', () => {
  const overview = overviewOf({
    sessions: [
      session('sess_abc', 1, { last_words: 'All tests pass' }),
      session('sess_def', 2, { status: 'closed', cwd: '/srv/shop' }),
    ],
  });
  const found = (filter: string) => Object.values(ids(overview, { filter })).flat();
  expect(found('ABC')).toEqual(['sess_abc']);
  expect(found('tests PASS')).toEqual(['sess_abc']);
  expect(found('title of sess_d')).toEqual(['sess_def']);
  expect(found('/srv')).toEqual(['sess_def']);
  expect(found('nowhere')).toEqual([]);
});

test('The row of a session has its state, location, agent, age and last words.', () => {
  const words = session('s', 61, { title: null, cwd: '/home/ada/src/shop', last_words: 'done' });
  const [item] = listItemsOf(overviewOf({ sessions: [{ ...words, id: 'sess_0123456789' }] }));
  if (!item) throw new Error('no item');
  expect(rowTextOf(item, NOW)).toEqual({
    symbol: '○',
    tone: 'faint',
    node: '',
    isAway: false,
    title: '23456789',
    isBold: false,
    isPinned: false,
    isMuted: false,
    location: 'src/shop',
    agent: 'acp',
    age: '1h',
    words: 'done',
  });
  const message = 'no more today';
  const limit = { message, since: NOW, resets_at: NOW, waits_because: null, turn_id: null };
  for (const [resumes_at, words_of] of [
    [NOW + 7_199_000, 'usage limit: resumes in 1h 59m · done'],
    [NOW - 1, 'usage limit: resumes in 1m · done'],
    [null, 'usage limit: resume manually · done'],
  ] as const) {
    const [waiting] = listItemsOf(
      overviewOf({ sessions: [{ ...words, usage_limit: { ...limit, resumes_at } }] }),
    );
    expect(waiting && rowTextOf(waiting, NOW).words).toBe(words_of);
  }
  const now = busy.sessions.get('idle');
  if (!now) throw new Error('no session');
  const worktree = { id: 'wt', repo_root: '/home/ada/shop', branch: 'cadre/fix' };
  const text = rowTextOf({ kind: 'session', id: 'idle', now, worktree }, NOW);
  expect(text.location).toBe('shop/cadre/fix');
  expect(containsText({ kind: 'session', id: 'idle', now, worktree }, 'cadre/fix')).toBe(true);
});

test('The row of a session names the sessions that it continues and that continue it.', () => {
  const handed = session('middle', 1, {
    continues: 'sess_old45678',
    continued_by: 'sess_new45678',
  });
  const [row] = listItemsOf(overviewOf({ sessions: [handed] }));
  const words = row && rowTextOf(row, NOW).words;
  expect(words).toContain('continues old45678, continued by new45678');
});

const many = overviewOf({
  sessions: Array.from({ length: 41 }, (_, i) => session(`s${i}`, i)),
  processes: [process('p1', 1), process('p2', 2)],
  teams: ['shop'],
});
const shown = (height: number, chosen?: string, rowHeight = 1) =>
  layout(sectionsOf(listItemsOf(many), settings, NOW), chosen, height, rowHeight).map((line) =>
    'heading' in line ? `${line.heading.name} ${line.from}-${line.to}` : line.item.id,
  );

test('The sections share the room, so that each section stays visible.', () => {
  expect(shown(12)).toEqual([
    'sessions 0-6',
    's0',
    's1',
    's2',
    's3',
    's4',
    's5',
    'processes 0-2',
    'p1',
    'p2',
    'teams 0-1',
    'team_shop',
  ]);
  expect(shown(12, 's30')).toContain('s30');
  expect(shown(12, 's30')).toContain('p2');
  expect(shown(20, undefined, 2).filter((one) => one.startsWith('p'))).toHaveLength(3);
});

test('It goes first to what runs or needs a person, and each section has a row.', () => {
  const sessions = Array.from({ length: 10 }, (_, i) =>
    session(`s${i}`, i, i < 6 ? { status: 'running' } : {}),
  );
  const ended = { status: 'completed', ended_at: NOW } as const;
  const processes = Array.from({ length: 10 }, (_, i) => process(`p${i}`, i, ended));
  const sections = sectionsOf(listItemsOf(overviewOf({ sessions, processes })), settings, NOW);
  const headings = layout(sections, undefined, 11, 1).flatMap((line) =>
    'heading' in line ? [`${line.heading.name} ${line.to}`] : [],
  );
  expect(headings).toEqual(['sessions 7', 'processes 2']);
});

test('A list without room for all headings shows the lines around the selected row.', () => {
  expect(shown(4, 'p2')).toEqual(['processes 0-2', 'p1', 'p2', 'teams 0-1']);
});

test('Sections that need less room leave the rest to the other sections.', () => {
  expect(shares([41, 2, 1], 9)).toEqual([6, 2, 1]);
  expect(shares([1, 1], 9)).toEqual([1, 1]);
  expect(shares([9, 9], 5)).toEqual([3, 2]);
  expect(shares([0, 4], 2)).toEqual([0, 2]);
});

function boardOf(overview: Overview, wanted?: string) {
  const source = new Observable(overview);
  const clock = new ManualClock(NOW);
  const listState = new ListState(source, clock, wanted);
  listState.start();
  return { listState, source, clock, chosen: () => listState.view.get().chosen?.id };
}

test('The list starts at a row that needs the user, or at the requested id.', () => {
  expect(boardOf(busy).chosen()).toBe('old');
  expect(boardOf(busy, 'runs').chosen()).toBe('runs');
  const calm = boardOf(overviewOf({ sessions: [session('a', 1), session('b', 2)] }));
  expect(calm.chosen()).toBe('a');
});

test('The selection stays at its id while rows come, leave and change their order.', () => {
  const { listState, source, chosen } = boardOf(busy);
  listState.select('idle');
  source.set(
    overviewOf({ sessions: [session('newer', 1), session('idle', 50), session('z', 70)] }),
  );
  expect(chosen()).toBe('idle');
  listState.changeView({ order: 'attention' });
  expect(chosen()).toBe('idle');
  source.set(overviewOf({ sessions: [session('newer', 1), session('z', 70)] }));
  expect(chosen()).toBe('z');
});

test('The next row that needs the user is found in all sections, if there is one.', () => {
  const { listState, chosen } = boardOf(busy);
  const visited = Array.from({ length: 5 }, () => {
    listState.nextThatNeedsMe();
    return chosen();
  });
  expect(visited).toEqual(['new', 'broken', 'news', 'old', 'new']);
  listState.changeView({ tab: 'ended' });
  expect(listState.nextThatNeedsMe()).toBe(true);
  expect(listState.view.get().tab).toBe('all');
  expect(boardOf(overviewOf({ sessions: [session('a', 1)] })).listState.nextThatNeedsMe()).toBe(
    false,
  );
});

test('The heading of a collapsed section is selected, and expands the section again.', () => {
  const { listState, chosen } = boardOf(busy);
  listState.select('idle');
  listState.fold('sessions', true);
  expect(chosen()).toBe('section sessions');
  listState.step(1);
  expect(chosen()).toBe('section snoozed');
  listState.fold('snoozed', false);
  expect(chosen()).toBe('sleeps');
  listState.fold('sessions', false);
  expect(chosen()).toBe('broken');
});

test('A row that is selected by its id becomes visible, whatever is filtered or collapsed.', () => {
  const { listState, chosen } = boardOf(busy);
  listState.changeView({ filter: 'news' });
  listState.select('done');
  expect(chosen()).toBe('done');
  expect(listState.view.get()).toMatchObject({ filter: '', tab: 'all' });
  listState.selectOnceThere('later');
  expect(chosen()).toBe('done');
});

test('A row stays in a tab until the tab is opened again, and the numbers go down at once.', () => {
  const { listState, source } = boardOf(busy);
  const shown = () => listState.view.get().choices.map(({ id }) => id);
  listState.changeView({ tab: 'needs you' });
  expect(shown()).toEqual(['old', 'new', 'broken', 'news']);
  source.set(
    overviewOf({
      sessions: [session('news', 20, { news_seq: 7, seen_seq: 7 }), session('x', 1)],
    }),
  );
  expect(shown()).toEqual(['news']);
  expect(listState.view.get().counts['needs you']).toBe(0);
  listState.changeView({ tab: 'needs you' });
  expect(shown()).toEqual([]);
});

test('Only a row that a key went to is reached, not one that the program chose.', () => {
  const { listState, source, chosen } = boardOf(busy);
  const reached = () => listState.view.get().isReached;
  expect([chosen(), reached()]).toEqual(['old', false]);
  listState.step(0);
  expect(reached()).toBe(true);
  source.set(overviewOf({ sessions: [session('news', 20, { news_seq: 7 })] }));
  expect([chosen(), reached()]).toEqual(['news', false]);
  listState.changeView({ tab: 'needs you' });
  expect(reached()).toBe(false);
  for (const go of [() => listState.nextThatNeedsMe(), () => listState.select('news')]) {
    go();
    expect([chosen(), reached()]).toEqual(['news', true]);
  }
  expect(boardOf(busy, 'runs').listState.view.get().isReached).toBe(false);
  listState.selectOnceThere('later');
  source.set(overviewOf({ sessions: [session('news', 20), session('later', 1)] }));
  listState.changeView({ tab: 'all' });
  expect([chosen(), reached()]).toEqual(['later', true]);
});

test('Ages grow without an event.', () => {
  const { listState, clock } = boardOf(busy);
  const before = listState.view.get().now;
  clock.advance(60_000);
  expect(listState.view.get().now - before).toBeGreaterThanOrEqual(60_000);
});
