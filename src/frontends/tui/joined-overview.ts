import { AppError } from '../../api/errors.ts';
import type { RuntimeEventRecord } from '../../api/events.ts';
import { endpoints } from '../../api/index.ts';
import type { Diagnostics } from '../../api/runtime.ts';
import { within } from '../../client/address.ts';
import type { Notice, Servers } from '../../client/servers.ts';
import type { Clock } from '../../core/lib/clock.ts';
import { BATCH_MS, type Connection } from './follow.ts';
import { Observable } from './observable.ts';
import { overviewKinds, withEvent, withNow } from './overview-events.ts';
import { type NodeState, type OverviewStore, SERVER_MS } from './overview-store.ts';
import { type Overview, type Resolved, emptyOverview, joined } from './overview.ts';
import { overviewOf, readOverview, readWork } from './read-overview.ts';

/** A server that could not be listed is listed again after this time. */
const LIST_AGAIN_MS = 2000;

interface Part {
  state: NodeState;
  overview: Overview;
  /** Events that wait for the next batch, or until the server was listed. */
  events: RuntimeEventRecord[];
  isListing: boolean;
  /** The number of listings that have begun. The results of all but the last one are dropped. */
  listings: number;
}

/** Keeps the overview of several servers: of each from its listing and the events after it. */
export class JoinedOverview implements OverviewStore {
  readonly overview = new Observable<Overview>(emptyOverview);
  readonly connection = new Observable<Connection>({ state: 'reading' });
  readonly server = new Observable<Diagnostics | null>(null);
  readonly nodes = new Observable<readonly NodeState[]>([]);
  readonly #servers: Servers;
  readonly #clock: Clock;
  readonly #stopped = new AbortController();
  readonly #parts = new Map<string, Part>();
  #resolved: Resolved | null = null;
  #looks: Disposable | undefined;
  #batch: Disposable | undefined;

  constructor(servers: Servers, clock: Clock) {
    this.#servers = servers;
    this.#clock = clock;
  }

  start(): void {
    this.#looks = this.#clock.every(SERVER_MS, () => this.#lookAtServers());
    void Promise.all([this.#learnOrder(), this.#follow()]).catch((error: unknown) => {
      if (this.#stopped.signal.aborted) return;
      if (!(error instanceof AppError)) throw error;
      this.connection.set({ state: 'refused', why: error.message });
    });
  }

  stop(): void {
    this.#stopped.abort();
    this.#looks?.[Symbol.dispose]();
    this.#batch?.[Symbol.dispose]();
  }

  async #follow(): Promise<void> {
    const { signal } = this.#stopped;
    const following = this.#servers.streamEvents({ from: 'latest', kinds: overviewKinds }, signal);
    for await (const one of following) {
      if (signal.aborted) return;
      const part = this.#partOf(one.node);
      if ('notice' in one) this.#notice(part, one.notice);
      else {
        part.events.push(one.event);
        this.#batch ??= this.#clock.after(BATCH_MS, () => this.#flush());
      }
    }
  }

  /** The servers in the order in which people named them, also those that were not heard of yet. */
  async #learnOrder(): Promise<void> {
    for (const { name, url } of await this.#servers.list()) {
      const part = this.#partOf(name);
      part.state = { ...part.state, url };
      this.#parts.delete(name);
      this.#parts.set(name, part);
    }
    this.#showNodes();
  }

  #partOf(name: string): Part {
    const known = this.#parts.get(name);
    if (known) return known;
    const state = { name, url: '', client: null, state: 'reading', detail: null } as const;
    const part: Part = {
      state: { ...state, since: null, server: null },
      overview: emptyOverview,
      events: [],
      isListing: true,
      listings: 0,
    };
    this.#parts.set(name, part);
    return part;
  }

  #notice(part: Part, notice: Notice): void {
    if (notice.state === 'unreachable') {
      part.state = {
        ...part.state,
        state: 'away',
        detail: notice.detail,
        since: this.#clock.now(),
        server: null,
      };
      if (part.isListing) void this.#recall(part);
    } else {
      // The waiting events are older than the listing.
      this.#flush();
      void this.#list(part);
    }
    this.#show();
  }

  /** Lists a server, again after a while where that fails. Its events wait: those that the lists include do no harm. */
  async #list(part: Part): Promise<void> {
    part.isListing = true;
    part.listings += 1;
    const { listings } = part;
    const { signal } = this.#stopped;
    while (!(await this.#isListed(part, listings))) {
      await this.#clock.sleep(LIST_AGAIN_MS, signal).catch(() => undefined);
      // A server that is away is listed when the stream reports that it is back.
      if (signal.aborted || part.listings !== listings || part.state.state === 'away') return;
    }
  }

  /** Lists a server, unless a newer listing has begun. False where the server does not list everything. */
  async #isListed(part: Part, listings: number): Promise<boolean> {
    try {
      const { client } = await this.#servers.named(part.state.name);
      if (!client) return false;
      const { seq, server, overview } = await readOverview(client);
      if (part.listings !== listings) return true;
      part.overview = overview;
      part.state = { ...part.state, client, state: 'live', detail: null, since: null, server };
      this.#show();
      for await (const now of readWork(client, overview, seq)) {
        if (part.listings !== listings) return true;
        part.overview = withNow(part.overview, now);
      }
      part.isListing = false;
      this.#flush();
      await this.#remember(part);
      return true;
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      return false;
    }
  }

  /** Shows the last known state of a server that has not answered yet. */
  async #recall(part: Part): Promise<void> {
    const known = await this.#servers.known(part.state.name);
    if (!known || part.state.state !== 'away') return;
    part.overview = overviewOf(known);
    this.#show();
  }

  async #remember({ state, overview }: Part): Promise<void> {
    await this.#servers.remember?.(state.name, {
      sessions: [...overview.sessions.values()].map(({ session }) => session),
      approvals: [...overview.approvals.values()].toReversed(),
      processes: [...overview.processes.values()],
    });
  }

  #flush(): void {
    this.#batch?.[Symbol.dispose]();
    this.#batch = undefined;
    for (const part of this.#parts.values()) {
      if (part.isListing) continue;
      const { resolved } = part.overview;
      part.overview = part.events.splice(0).reduce(withEvent, part.overview);
      if (part.overview.resolved !== resolved) this.#resolved = part.overview.resolved;
    }
    if (!this.#stopped.signal.aborted) this.#show();
  }

  #show(): void {
    const parts = [...this.#parts.values()];
    const named = parts.map(({ state, overview }) => ({
      node: { name: state.name, isAway: state.state === 'away' },
      overview,
    }));
    this.overview.set(joined(named, this.#resolved));
    this.#showNodes();
    if (parts.some(({ state }) => state.state !== 'reading'))
      this.connection.set({ state: 'live' });
  }

  #showNodes(): void {
    this.nodes.set([...this.#parts.values()].map(({ state }) => state));
  }

  #lookAtServers(): void {
    for (const part of this.#parts.values()) {
      const { client, state } = part.state;
      if (!client || state !== 'live') continue;
      const read = (signal: AbortSignal) => client.call(endpoints.getDiagnostics, {}, signal);
      within(this.#clock, read).then(
        (server) => {
          part.state = { ...part.state, server };
          this.#showNodes();
          return this.#remember(part);
        },
        // The stream reports that the server is away.
        () => undefined,
      );
    }
  }
}
