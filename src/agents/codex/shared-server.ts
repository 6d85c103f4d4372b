import type { Clock } from '../../core/lib/clock.ts';
import { unlessAborted } from '../agent-process.ts';
import type { AppServer } from './app-server.ts';

/** A server that nobody uses lives so much longer, so that the next session need not start one. */
const LINGER_MS = 2000;
/** A server has this long to end after that. */
const END_MS = 2000;

const NEVER = new AbortController().signal;

/** A use of the server, which lives at least until the last lease is released. */
export interface Lease {
  readonly server: AppServer;
  /** Where this was the last lease of a server that is not kept, resolves when nothing of the server is left. */
  release(graceMs: number): Promise<void>;
}

interface Running {
  readonly server: Promise<AppServer>;
  /** Null while it starts. */
  up: AppServer | null;
  users: number;
  linger: Disposable | undefined;
}

/**
 * An app-server that an earlier server of cadre has started. It serves only the sessions that it has: each gets another
 * app-server after its turn.
 */
export class SurvivingServer {
  readonly #server: AppServer;
  #users = 0;

  constructor(server: AppServer) {
    this.#server = server;
    server.retire();
  }

  lease(): Lease {
    this.#users++;
    return {
      server: this.#server,
      release: async (graceMs) => {
        if (--this.#users === 0) await this.#server.end(graceMs);
      },
    };
  }
}

/** The one app-server of all sessions without a sandbox, or of one sandbox: started when it is first needed, ended when nobody needs it. */
export class SharedServer {
  readonly #clock: Clock;
  readonly #start: () => Promise<AppServer>;
  readonly #lingers: boolean;
  #running: Running | undefined;

  /** `lingers`: false for a server that ends with its last lease, because another server takes over its threads. */
  constructor(clock: Clock, start: () => Promise<AppServer>, { lingers = true } = {}) {
    this.#clock = clock;
    this.#lingers = lingers;
    this.#start = start;
  }

  get isIdle(): boolean {
    return this.#running === undefined;
  }

  get pid(): number | null {
    return this.#running?.up?.pid ?? null;
  }

  /** Rejects as the start does, or with the signal's reason. */
  async lease(signal: AbortSignal): Promise<Lease> {
    const lost = this.#running?.up;
    // Two servers at once would write to the same threads, so the lost one is ended first.
    if (lost?.isLost()) this.#running = this.#launch(lost.end(END_MS));
    const running = (this.#running ??= this.#launch());
    running.linger?.[Symbol.dispose]();
    running.users++;
    try {
      const server = await unlessAborted(running.server, signal);
      return { server, release: (graceMs) => this.#release(running, graceMs) };
    } catch (error) {
      this.#release(running, 0).catch(() => undefined);
      throw error;
    }
  }

  /** Runs `work` with a lease of its own: also where no session has an agent. */
  async use<T>(work: (server: AppServer) => Promise<T>, signal = NEVER): Promise<T> {
    const lease = await this.lease(signal);
    try {
      return await unlessAborted(work(lease.server), signal);
    } finally {
      await lease.release(END_MS);
    }
  }

  /** The next lease gets a new server; the old one ends when none of its sessions is at a turn any more. */
  async retire(): Promise<void> {
    const running = this.#running;
    if (!running) return;
    this.#forget(running);
    const server = await running.server.catch(() => null);
    server?.retire();
    if (running.users === 0) await server?.end(END_MS);
  }

  /** Starts a server, once `ended` resolves where that is given. */
  #launch(ended?: Promise<void>): Running {
    const server = ended ? ended.then(this.#start) : this.#start();
    const running: Running = { server, up: null, users: 0, linger: undefined };
    void running.server
      .then((server) => {
        running.up = server;
        return server.gone;
      })
      .catch(() => undefined)
      .finally(() => this.#forget(running));
    return running;
  }

  async #release(running: Running, graceMs: number): Promise<void> {
    running.users--;
    const server = await running.server;
    // Another lease may have begun meanwhile.
    if (running.users > 0) return;
    // A server with routes is not kept: a turn that its agent has left would continue and block its thread.
    if (this.#lingers && running === this.#running && !server.hasRoutes) {
      // Two leases that were released at once both get here.
      running.linger?.[Symbol.dispose]();
      running.linger = this.#clock.after(LINGER_MS, () => {
        this.#forget(running);
        void server.end(END_MS);
      });
      return;
    }
    this.#forget(running);
    await server.end(graceMs);
  }

  #forget(running: Running): void {
    running.linger?.[Symbol.dispose]();
    if (this.#running === running) this.#running = undefined;
  }
}
