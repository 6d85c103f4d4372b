import { endpoints } from '../../api/index.ts';
import type { Diagnostics } from '../../api/runtime.ts';
import { within } from '../../client/address.ts';
import type { Client } from '../../client/client.ts';
import type { Clock } from '../../core/lib/clock.ts';
import { type Connection, follow } from './follow.ts';
import { Observable } from './observable.ts';
import { overviewKinds, withEvent, withNow } from './overview-events.ts';
import { type Overview, emptyOverview } from './overview.ts';
import { oldestFirst, readOverview, readWork } from './read-overview.ts';

/** The server's diagnostics are polled at this interval, because no event reports them. */
export const SERVER_MS = 10_000;

interface OverviewStoreDependencies {
  client: Client;
  clock: Clock;
  watches: 'everything' | 'approvals';
}

/** The state of one server, or of several. */
export interface OverviewStore {
  readonly overview: Observable<Overview>;
  readonly connection: Observable<Connection>;
  /** As of the last poll; null before the first, and where there are several servers. */
  readonly server: Observable<Diagnostics | null>;
  /** The servers, if there are several; else empty. */
  readonly nodes: Observable<readonly NodeState[]>;
  start(): void;
  stop(): void;
}

/** Keeps the overview of one server from one listing and the events after it. */
export class ServerOverview implements OverviewStore {
  readonly overview = new Observable<Overview>(emptyOverview);
  readonly connection = new Observable<Connection>({ state: 'reading' });
  readonly server = new Observable<Diagnostics | null>(null);
  readonly nodes = new Observable<readonly NodeState[]>([]);
  readonly #deps: OverviewStoreDependencies;
  readonly #stopped = new AbortController();
  #looks: Disposable | undefined;

  /** The page of events watches approvals only. */
  constructor(deps: OverviewStoreDependencies) {
    this.#deps = deps;
  }

  start(): void {
    const all = this.#deps.watches === 'everything';
    void follow({
      client: this.#deps.client,
      clock: this.#deps.clock,
      scope: { kinds: all ? overviewKinds : ['approval.*'] },
      signal: this.#stopped.signal,
      begin: () => (all ? this.#listAll() : this.#listApprovals()),
      take: (events) => this.overview.change((overview) => events.reduce(withEvent, overview)),
      connection: this.connection,
      // The lists include the changes of events that retention has removed.
      onGap: () => (all ? this.#listAll() : this.#listApprovals()),
    });
    if (all) this.#looks = this.#deps.clock.every(SERVER_MS, () => void this.#lookAtServer());
  }

  stop(): void {
    this.#stopped.abort();
    this.#looks?.[Symbol.dispose]();
  }

  async #listApprovals(): Promise<number> {
    const { value, headers } = await this.#deps.client.ask(endpoints.listApprovals, {
      query: { limit: 500 },
    });
    this.overview.set({ ...emptyOverview, approvals: oldestFirst(value) });
    return Number(headers['x-seq'] ?? 0);
  }

  async #listAll(): Promise<number> {
    const { client } = this.#deps;
    const { seq, server, overview } = await readOverview(client);
    this.server.set(server);
    this.overview.set(overview);
    for await (const now of readWork(client, overview, seq))
      this.overview.change((known) => withNow(known, now));
    return seq;
  }

  async #lookAtServer(): Promise<void> {
    try {
      const { client, clock } = this.#deps;
      // A server that hangs keeps no more than one of these requests.
      const read = (signal: AbortSignal) => client.call(endpoints.getDiagnostics, {}, signal);
      this.server.set(await within(clock, read));
    } catch {
      // The stream reports that the server is away.
    }
  }
}

/** One of several servers, as the screen knows it. */
export interface NodeState {
  name: string;
  url: string;
  /** Null where nothing can be asked of it. */
  client: Client | null;
  state: 'reading' | 'live' | 'away';
  /** Why it is away, in a sentence; null where it is not. */
  detail: string | null;
  /** Since when it is away, in Unix milliseconds; null where it is not. */
  since: number | null;
  /** As of the last poll; null before the first. */
  server: Diagnostics | null;
}
