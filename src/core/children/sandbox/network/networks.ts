import { AppError } from '../../../../api/errors.ts';
import type { Clock } from '../../../lib/clock.ts';
import { reachOf } from '../../../lib/host-lists.ts';
import type { Identity } from '../../identity.ts';
import type { HeldRecord } from '../../shim/frames.ts';
import type { KeptSandbox } from '../../spawn-barrier.ts';
import { hasProxy, PROXY_PORT } from '../plan.ts';
import { HostApprovals, type AskHost, type HostAnswer } from './host-approvals.ts';
import type { InsidePort, SandboxNetwork } from './network.ts';
import type { PublishedPorts, RefusedHost } from './proxy.ts';

/** The maximum number of refused hosts of one owner that are reported. */
const MAX_REPORTED = 100;
/** The time in which a refused host is reported once, in milliseconds. */
const REPORT_MS = 60_000;

/** The hosts and ports that processes of an owner can use. */
interface Reachable {
  /** The hosts that all plans of the owner name. */
  readonly hosts: Set<string>;
  /** The times at which refused hosts were reported. */
  readonly reported: Map<string, number>;
  /** Whether a plan wants a person to be asked about other hosts. */
  asks: boolean;
  /** Whether the agent of the owner runs in the network. */
  hasAgent: boolean;
}

interface Owned extends Reachable {
  /** The network, once it has all ports that plans have named so far. */
  opened: Promise<SandboxNetwork>;
  published: Promise<PublishedPorts> | null;
}

/** Asks a person whether the processes of an owner may reach a host that no list names. */
type AskForOwner = (owner: string, ...asked: Parameters<AskHost>) => Promise<HostAnswer>;

interface NetworksDependencies {
  clock: Clock;
  /** The value of PATH, in which the programs are searched. */
  searchPath: string;
  /** A part of a network cannot be used, for example a port of the machine. */
  onProblem: (owner: string, what: string, error: unknown) => void;
}

/** How owners of networks reach people. */
interface People {
  ask: AskForOwner;
  /** A host was refused. One host is reported once a minute. */
  refused: (owner: string, refused: RefusedHost) => void;
}

/** The networks of owners of sandboxes, such as sessions: all processes of an owner share one loopback interface. */
export class Networks {
  readonly #deps: NetworksDependencies;
  readonly #owned = new Map<string, Owned>();
  #tools: InsidePort | null = null;
  #people: People | null = null;

  constructor(deps: NetworksDependencies) {
    this.#deps = deps;
  }

  /** Sets how people are asked about hosts. */
  connectPeople(people: People): void {
    this.#people = people;
  }

  /**
   * Sets the port of the tools, once the server listens. It is the port of the server, of which a sandbox reaches only the tools.
   * Resolves when the networks of an earlier server have all ports.
   */
  async connectTools(tools: InsidePort): Promise<void> {
    this.#tools = tools;
    for (const [owner, owned] of this.#owned) {
      const ports = [...owned.hosts].flatMap(portOfMachine);
      const withTools = this.#listen(owner, owned.opened, tools);
      owned.opened = this.#forward(owner, withTools, ports);
    }
    await Promise.allSettled([...this.#owned.values()].map(({ opened }) => opened));
  }

  /** Continues with the networks in which children of an earlier server run. */
  async restore(children: readonly HeldRecord[]): Promise<void> {
    const restored = children.map(async ({ about: { sandbox }, exit, pid, started_ticks }) => {
      if (!sandbox || exit || !hasProxy(sandbox.network)) return;
      const { owner } = sandbox;
      if (!this.#owned.has(owner)) this.#open(owner, { pid, startedTicks: started_ticks });
      await this.wordsFor(sandbox).catch((error: unknown) =>
        this.#deps.onProblem(owner, 'the whole network', error),
      );
    });
    await Promise.all(restored);
  }

  /**
   * Resolves with the words that run a command in the network of an owner, which also reaches these hosts from now on. Throws
   * `sandbox_unavailable` if the machine does not allow such a network.
   */
  async wordsFor({ owner, hosts, network, isAgent }: KeptSandbox): Promise<readonly string[]> {
    const owned = this.#owned.get(owner) ?? this.#open(owner);
    const added = hosts.filter((host) => !owned.hosts.has(host));
    // Before the port of the tools is known, it could be one of them.
    const ports = this.#tools ? added.flatMap(portOfMachine) : [];
    for (const host of hosts) owned.hosts.add(host);
    owned.asks ||= network === 'ask';
    owned.hasAgent ||= isAgent;
    if (ports.length > 0) owned.opened = this.#forward(owner, owned.opened, ports);
    try {
      return (await owned.opened).words;
    } catch (error) {
      if (this.#owned.get(owner) === owned) this.#owned.delete(owner);
      throw new AppError(
        'sandbox_unavailable',
        `sandbox.network "hosts" needs a network namespace, which this machine does not allow: ${(error as Error).message}. Set sandbox.network to "none" or "all"`,
        { cause: error },
      );
    }
  }

  /** `leader`: a process that runs in the network already. */
  #open(owner: string, leader: Identity | null = null): Owned {
    const reachable: Reachable = {
      hosts: new Set(),
      reported: new Map(),
      asks: false,
      hasAgent: false,
    };
    const opened = this.#create(owner, reachable, leader);
    const owned = Object.assign(reachable, { opened, published: null });
    this.#owned.set(owner, owned);
    return owned;
  }

  /** Creates a network. The proxy is loaded here, because most servers have no such sandbox. */
  async #create(
    owner: string,
    reachable: Reachable,
    leader: Identity | null,
  ): Promise<SandboxNetwork> {
    const [{ SandboxNetwork }, { SandboxProxy }] = await Promise.all([
      import('./network.ts'),
      import('./proxy.ts'),
    ]);
    const { clock, searchPath } = this.#deps;
    const asked = new HostApprovals(
      async (...question) => (await this.#people?.ask(owner, ...question)) ?? 'nobody',
      clock,
    );
    const proxy = new SandboxProxy({
      reachOf: async (host, port, gone) => {
        const listed = reachOf(reachable.hosts, host, port);
        if (listed !== null) return listed;
        return reachable.asks && (await asked.allows(host, port, gone)) ? 'public' : null;
      },
      onRefused: (refused) => this.#refused(owner, reachable, refused),
      ownPort: () => this.#tools?.port ?? 0,
      clock,
    });
    const ports: InsidePort[] = [{ port: PROXY_PORT, accept: (socket) => proxy.accept(socket) }];
    if (this.#tools) ports.push(this.#tools);
    return leader
      ? SandboxNetwork.enter(leader, searchPath, ports, clock)
      : SandboxNetwork.open(searchPath, ports, clock);
  }

  async #forward(
    owner: string,
    opened: Promise<SandboxNetwork>,
    ports: readonly number[],
  ): Promise<SandboxNetwork> {
    const { forward } = await import('./proxy.ts');
    const isFree = (port: number) => port !== this.#tools?.port && port !== PROXY_PORT;
    for (const port of new Set(ports.filter(isFree)))
      await this.#listen(owner, opened, { port, accept: (socket) => forward(socket, port) });
    return opened;
  }

  async #listen(
    owner: string,
    opened: Promise<SandboxNetwork>,
    port: InsidePort,
  ): Promise<SandboxNetwork> {
    const network = await opened;
    await network
      .listen([port], this.#deps.clock)
      // A program inside may serve this port itself.
      .catch((error: unknown) => this.#deps.onProblem(owner, `port ${port.port}`, error));
    return network;
  }

  #refused(owner: string, { reported }: Reachable, refused: RefusedHost): void {
    const key = `${refused.host}:${refused.port}`;
    const now = this.#deps.clock.monotonic();
    const before = reported.get(key);
    const isFull = before === undefined && reported.size >= MAX_REPORTED;
    if (isFull || now - (before ?? Number.NEGATIVE_INFINITY) < REPORT_MS) return;
    reported.set(key, now);
    this.#people?.refused(owner, refused);
  }

  /**
   * Publishes ports of the network of an owner on the loopback interface of this machine, until the result is disposed. Throws
   * `conflict` for a port that this machine uses.
   */
  async publish(owner: string, ports: readonly number[]): Promise<AsyncDisposable> {
    const owned = this.#owned.get(owner);
    if (!owned) throw new Error(`the sandbox ${owner} has no network`);
    owned.published ??= Promise.all([owned.opened, import('./proxy.ts')]).then(
      ([network, { PublishedPorts }]) => new PublishedPorts(network),
    );
    return (await owned.published).publish(ports);
  }

  /** Returns the address of the tools for an agent that runs in a network. Null: it does not. */
  toolsUrl(owner: string): string | null {
    const isInside = this.#owned.get(owner)?.hasAgent === true && this.#tools !== null;
    return isInside ? `http://127.0.0.1:${this.#tools?.port}` : null;
  }

  /** Closes the network of an owner. Its processes reach nothing any more. */
  async close(owner: string): Promise<void> {
    const owned = this.#owned.get(owner);
    this.#owned.delete(owner);
    const published = await owned?.published;
    await published?.[Symbol.asyncDispose]();
    const network = await owned?.opened.catch(() => undefined);
    await network?.[Symbol.asyncDispose]();
  }

  async closeAll(): Promise<void> {
    await Promise.all([...this.#owned.keys()].map((owner) => this.close(owner)));
  }
}

/** Returns the port of a host of the list that is the machine itself: inside, the same port of the loopback interface leads there. */
function portOfMachine(host: string): number[] {
  const [, port] = /^(?:localhost|127\.0\.0\.1):(\d+)$/.exec(host) ?? [];
  return port === undefined ? [] : [Number(port)];
}
