import { onTestFinished } from 'vitest';
import { sqlWasm } from '../../src/core/lib/self.ts';
import type { QueryOf } from '../../src/api/endpoint.ts';
import type { endpoints } from '../../src/api/index.ts';
import type { SearchHit } from '../../src/api/search.ts';
import type { Item, Session } from '../../src/api/sessions.ts';
import { systemClock } from '../../src/core/lib/clock.ts';
import { SearchService, type SearchDeps } from '../../src/server/conversations/search/service.ts';
import { expectEventually } from './expect-eventually.ts';
import { testStore, type TestStore } from './memory-store.ts';
import { aSession, aTurn } from './records.ts';

type Query = Partial<QueryOf<typeof endpoints.search>>;

/** A store with sessions of a test, and the search in it. */
export interface TestSearch extends TestStore {
  service: SearchService;
  /** Ends the search and starts it again on the same files, as a restart does. */
  restart(more?: Partial<SearchDeps>): Promise<void>;
  /** Opens a session. */
  open(id: string, more?: Partial<Session>): Promise<Session>;
  /** Stores a prompt with the items of its answer; returns the id of the turn. */
  say(session: string, prompt: string, ...items: readonly Partial<Item>[]): Promise<string>;
  /** Changes a session, with its event. */
  change(session: Session): Promise<void>;
  /** Searches, and returns the texts of a page with marks in brackets. */
  find(q: string, more?: Query): Promise<string[]>;
  page(query: Query): Promise<{ records: SearchHit[]; nextCursor: string | null }>;
  /** Searches until the index is built. */
  built(): Promise<void>;
}

export const message = (text: string, more: Partial<Item> = {}): Partial<Item> => ({
  kind: 'message',
  text,
  ...more,
});
export const tool = (title: string, input: unknown, output = ''): Partial<Item> => ({
  kind: 'tool',
  text: output,
  tool: { call_ref: 'c', title, kind: 'execute', input },
});

/** Opens a search on a separate store; both are closed when the test has finished. */
export async function testSearch(more: Partial<SearchDeps> = {}): Promise<TestSearch> {
  const given = await testStore();
  const { db, store, directory } = given;
  const logger = { warn: () => undefined } as unknown as SearchDeps['logger'];
  const needs: SearchDeps = {
    db,
    store,
    directory,
    clock: systemClock,
    logger,
    wasm: sqlWasm,
    bootId: 'boot',
    teams: { agentsOf: () => [] },
    shortage: () => null,
    ...more,
  };
  let count = 0;
  let at = 1000;
  const harness: TestSearch = {
    ...given,
    service: new SearchService(needs),
    async restart(other = {}) {
      await harness.service.stop();
      harness.service = new SearchService({ ...needs, ...other });
    },
    async open(id, record = {}) {
      const session = aSession({ id, created_at: ++at, updated_at: at, ...record });
      await db.transact((tx) => store.sessions.insert(tx, session));
      return session;
    },
    async say(session_id, prompt, ...items) {
      const turn_id = `turn_${++count}`;
      const input = [{ type: 'text' as const, text: prompt }];
      await db.transact((tx) => {
        store.turns.insert(tx, aTurn({ session_id, turn_id, input, accepted_at: ++at }));
        for (const one of items) store.items.insert(tx, itemOf(one));
      });
      return turn_id;

      function itemOf(one: Partial<Item>): Item {
        return {
          item_id: `item_${++count}`,
          session_id,
          turn_id,
          kind: 'message',
          status: 'completed',
          text: '',
          tool: null,
          created_at: ++at,
          completed_at: at,
          ...one,
        };
      }
    },
    async change(session) {
      await db.transact((tx) => store.updateSession(tx, session, 'session.updated'));
    },
    async find(q, query = {}) {
      const { records } = await harness.page({ q, ...query });
      return records.map(bracketed);
    },
    page: (query) =>
      harness.service.search(
        { order: 'newest', limit: 20, ...query },
        new AbortController().signal,
      ),
    async built() {
      // Otherwise a search that never waits for the disk would starve the index, which grows by timers.
      await expectEventually(async () => {
        await harness.page({});
        return harness.service.status().state;
      }).toBe('ready');
    },
  };
  onTestFinished(() => harness.service.stop());
  return harness;
}

function bracketed({ text, marks }: SearchHit): string {
  let shown = text;
  for (const { start, end } of marks.toReversed())
    shown = `${shown.slice(0, start)}[${shown.slice(start, end)}]${shown.slice(end)}`;
  return shown;
}
