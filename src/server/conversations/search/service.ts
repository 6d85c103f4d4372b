import { isInside } from '../../../core/lib/paths.ts';
import path from 'node:path';
import type { QueryOf } from '../../../api/endpoint.ts';
import { type search, type SearchHit, type SearchIndex, searchKind } from '../../../api/search.ts';
import type { Session } from '../../../api/sessions.ts';
import { OneAtATime } from '../../../core/lib/one-at-a-time.ts';
import type { SessionStore } from '../sessions/store.ts';
import type { RecordPage } from '../../../core/store/records.ts';
import type { Reader } from '../../../core/store/transaction.ts';
import { type Document, directoryMark, kindMark, providerMark, sessionMark } from './documents.ts';
import { findTexts, type Found, type SearchRequest } from './finder.ts';
import { termsOf } from './query.ts';
import { Rows } from './rows.ts';
import { IndexMaintenance, type IndexMaintenanceDeps } from './index-maintenance.ts';

export interface SearchDeps extends Omit<IndexMaintenanceDeps, 'rows'> {
  store: SessionStore;
  /** Returns the ids of the sessions in a team. Throws `not_found`. */
  teams: { agentsOf: (rx: Reader, teamId: string) => readonly string[] };
}

type Query = QueryOf<typeof search>;

/** How many texts that match are weighed against each other for the best. */
const WEIGHED = 400;
/** The worth of a hit falls to a half of its newer half in so many milliseconds: 30 days. */
const AGING_MS = 2_592_000_000;
const worth: Record<SearchHit['kind'], number> = { title: 3, prompt: 1.4, answer: 1, tool: 0.8 };
/** A query of more sessions than this searches all texts, and leaves out the texts of other sessions. */
const MAX_MARKED = 500;

/** Finds prompts, answers, tool inputs and titles. The first search begins the index. */
export class SearchService {
  readonly #deps: SearchDeps;
  readonly #rows: Rows;
  readonly #maintenance: IndexMaintenance;
  readonly #turns = new OneAtATime();

  constructor(deps: SearchDeps) {
    this.#deps = deps;
    this.#rows = new Rows(deps);
    this.#maintenance = new IndexMaintenance({ ...deps, rows: this.#rows });
  }

  resume(): void {
    this.#maintenance.wake(0);
  }

  /** Notes that there may be something new. */
  changed(): void {
    this.#maintenance.wake();
  }

  /** Returns a page of what was stored at the call, as far as it is indexed. Throws `invalid` and `not_found`. */
  async search(query: Query, signal: AbortSignal): Promise<RecordPage<SearchHit>> {
    const wanted = await this.#wanted(query, signal);
    // One at a time: the pauses of many searches would add up to one long one.
    return this.#turns.run('search', async () => {
      if (signal.aborted) return { records: [], nextCursor: null };
      const deps = { ...this.#deps, rows: this.#rows };
      return this.#maintenance.using(async (index) => {
        if (query.order === 'best') {
          const page = { below: Number.MAX_SAFE_INTEGER, limit: WEIGHED };
          const { found } = await findTexts(deps, index, wanted, page);
          return { records: this.#best(found).slice(0, query.limit), nextCursor: null };
        }
        const below = query.cursor === undefined ? Number.MAX_SAFE_INTEGER : Number(query.cursor);
        const { found, next } = await findTexts(deps, index, wanted, {
          below,
          limit: query.limit,
        });
        const nextCursor = next === null ? null : String(next);
        return { records: found.map(({ hit }) => hit), nextCursor };
      });
    });
  }

  status(): SearchIndex {
    return this.#maintenance.status();
  }

  async drop(): Promise<SearchIndex> {
    await this.#turns.run('search', () => this.#maintenance.drop());
    return this.status();
  }

  async stop(): Promise<void> {
    await this.#maintenance.stop();
  }

  #best(found: readonly Found[]): SearchHit[] {
    const now = this.#deps.clock.now();
    const value = ({ hit, score }: Found) =>
      score * worth[hit.kind] * (0.5 + 0.5 * 2 ** (-Math.max(0, now - hit.created_at) / AGING_MS));
    return found.toSorted((a, b) => value(b) - value(a)).map(({ hit }) => hit);
  }

  #wanted(query: Query, signal: AbortSignal): Promise<SearchRequest> {
    const terms = query.q === undefined ? [] : termsOf(query.q);
    const { kind, session_id, team_id, provider } = query;
    const cwd = query.cwd === undefined ? undefined : withoutSlash(path.normalize(query.cwd));
    return this.#deps.db.read((rx) => {
      const ids = this.#sessions(rx, session_id, team_id);
      const rows =
        ids && ids.length <= MAX_MARKED
          ? ids.map((id) => this.#rows.sessionRow(rx, id) ?? 0)
          : null;
      const marks = [
        // Each text has a kind, so a query without words finds all.
        (kind === undefined ? searchKind.options : [kind]).map((one) => kindMark(one)),
        ...(provider === undefined ? [] : [[providerMark(provider)]]),
        ...(cwd === undefined ? [] : [[directoryMark(cwd)]]),
        // No session has the row 0: a team without members finds nothing.
        ...(rows ? [[0, ...rows].map((n) => sessionMark(n))] : []),
      ];
      const members = ids && new Set(ids);
      const isWanted = (document: Document, session: Session) =>
        (kind === undefined || document.kind === kind) &&
        (!members || members.has(session.id)) &&
        (provider === undefined || session.provider === provider) &&
        (cwd === undefined || isInside(session.cwd, cwd));
      return { terms, marks, since: query.since ?? 0, isWanted, signal };
    });
  }

  #sessions(rx: Reader, session?: string, team?: string): readonly string[] | null {
    const members = team === undefined ? null : this.#deps.teams.agentsOf(rx, team);
    if (session === undefined) return members;
    this.#deps.store.session(rx, session);
    return members === null || members.includes(session) ? [session] : [];
  }
}

function withoutSlash(directory: string): string {
  return directory.length > 1 && directory.endsWith('/') ? directory.slice(0, -1) : directory;
}
