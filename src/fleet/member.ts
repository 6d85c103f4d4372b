import type { NatsConnection } from '@nats-io/transport-node';
import type { Clock } from '../core/lib/clock.ts';
import { errorMessage } from '../core/lib/error-message.ts';
import type { Logger } from '../core/lib/log.ts';
import { Bucket } from './bucket.ts';
import { type Access, connectTo } from './connection.ts';
import { ALIVE_TTL_MS, type Names, namesOf } from './names.ts';
import { NatsMirrorStream } from './nats-mirror-stream.ts';
import { type Ask, serveRequests } from './requests.ts';
import { type Identity, type NodeHeartbeat, Heartbeat } from './heartbeat.ts';

export interface MemberOptions {
  access: Access;
  labels: readonly string[];
  self: Identity & { version: string };
  /** The epochs of the logs that this server's log is a copy of. */
  forks: readonly string[];
  /** How many agents run, and how many may. */
  load: () => { live: number; max_live: number };
  /** Answers a request by the server's own endpoints. */
  ask: Ask;
  /** Tasks that run while this server has the name, such as the mirror. */
  tasks: readonly MemberTask[];
  clock: Clock;
  logger: Logger;
}

/** A connection to the fleet, as the node that it belongs to. */
export interface Link {
  connection: NatsConnection;
  names: Names;
  node: string;
}

/**
 * Runs while the server has its name, until `signal` aborts; it outlives reconnects, and is started again after the name
 * was lost. One that throws Diverged is not started again.
 */
export type MemberTask = (
  link: Link,
  signal: AbortSignal,
  /** Reports the problem that stops the task, and a notice about a task that works; both name the next step, or are null. */
  report: (trouble: string | null, notice: string | null) => void,
) => Promise<void>;

/** Thrown by a task where the fleet's copy of this node's events is of another log. The message says what to do. */
export class Diverged extends Error {
  override readonly name = 'Diverged';
}

export type MemberState =
  | 'joining'
  | 'member'
  | 'name_taken'
  | 'diverged'
  | 'not_mirrored'
  | 'unreachable';

/** `detail`: the problem and its solution. Null if there is none. */
export interface MemberStatus {
  state: MemberState;
  detail: string | null;
}

const RENEW_EVERY_MS = ALIVE_TTL_MS / 3;
/** How long to wait after a failed attempt to join, in milliseconds. */
const RETRY_MS = 1000;
/** For so long, in milliseconds, trouble of a task may be one that passes, such as the choice of a new leader. */
const PASSING_MS = 10_000;
const MAX_DETAIL = 500;
/** How long leaving may take, in milliseconds: nobody waits longer for a fleet that does not answer. */
const LEAVE_MS = 2000;

/** Keeps a server in its fleet: joins, renews the heartbeat, answers requests, and joins again after an error. */
export class Member {
  readonly #deps: MemberOptions;
  readonly #ending = new AbortController();
  readonly #names: Names;
  readonly #done: Promise<void>;
  #status: MemberStatus = { state: 'joining', detail: null };
  #diverged: string | null = null;
  /** It stays until the server stops, so that somebody sees it. */
  #notice: string | null = null;
  #trouble: { detail: string; since: number } | null = null;
  #connection: NatsConnection | null = null;

  constructor(deps: MemberOptions) {
    this.#deps = deps;
    this.#names = namesOf(deps.access.fleet);
    this.#done = this.#run();
  }

  get status(): MemberStatus {
    if (this.#status.state !== 'member') return this.#status;
    if (this.#diverged !== null) return { state: 'diverged', detail: this.#diverged };
    const { detail = null, since = 0 } = this.#trouble ?? {};
    const isLasting = detail !== null && this.#deps.clock.monotonic() - since >= PASSING_MS;
    return isLasting
      ? { state: 'not_mirrored', detail }
      : { state: 'member', detail: this.#notice };
  }

  /** Leaves the fleet: removes the heartbeat and closes the connection, in 2 s at most. Never throws. */
  async leave(): Promise<void> {
    this.#ending.abort();
    const late = new AbortController();
    await Promise.race([
      this.#done,
      this.#deps.clock.sleep(LEAVE_MS, late.signal).catch(() => undefined),
    ]);
    late.abort();
    // Nothing that still waits for an answer of NATS may keep the process alive.
    await this.#connection?.close().catch(() => undefined);
  }

  async #run(): Promise<void> {
    const { clock, logger } = this.#deps;
    while (!this.#ending.signal.aborted) {
      try {
        this.#connection = await connectTo(this.#deps.access);
        await this.#stay(this.#connection);
      } catch (error) {
        this.#fail(error);
        logger.debug({ err: error }, 'cannot join the fleet');
      }
      await clock.sleep(RETRY_MS, this.#ending.signal).catch(() => undefined);
    }
  }

  /** Stays until the server stops, or the connection is closed for good. */
  async #stay(connection: NatsConnection): Promise<void> {
    const over = new AbortController();
    const signal = AbortSignal.any([this.#ending.signal, over.signal]);
    void connection.closed().then(() => over.abort());
    const heartbeat = this.#heartbeat(connection);
    let work: Work | null = null;
    try {
      while (!signal.aborted) {
        const isOurs = await this.#renew(heartbeat, work === null ? connection : null);
        if (isOurs && work === null) work = this.#begin(connection, heartbeat);
        if (isOurs === false && work !== null) work = await end(work);
        await this.#deps.clock.sleep(RENEW_EVERY_MS, signal).catch(() => undefined);
      }
    } finally {
      if (work) await end(work);
      await heartbeat.end().catch(() => undefined);
      await connection.close();
    }
  }

  /** Null: NATS did not answer. */
  async #renew(heartbeat: Heartbeat, joining: NatsConnection | null): Promise<boolean | null> {
    const { name } = this.#deps.access;
    try {
      const isReserved = joining !== null && (await this.#isReserved(joining));
      const isOurs = !isReserved && (await heartbeat.renew());
      const detail = isReserved ? reservedDetail(name) : takenDetail(name);
      this.#setStatus(isOurs ? { state: 'member', detail: null } : { state: 'name_taken', detail });
      return isOurs;
    } catch (error) {
      this.#fail(error);
      return null;
    }
  }

  /**
   * Reports whether the name belongs to another log: the newest event of this name in the fleet is of that log, whether its
   * server is alive or not.
   */
  async #isReserved(connection: NatsConnection): Promise<boolean> {
    const { access, self, forks } = this.#deps;
    const head = await new NatsMirrorStream(connection, this.#names, access.name).head();
    // A message of no log has freed the name.
    return head !== null && ![self.epoch, ...forks, ''].includes(head.epoch);
  }

  #begin(connection: NatsConnection, heartbeat: Heartbeat): Work {
    const { access, ask, tasks, logger } = this.#deps;
    const stopping = new AbortController();
    const { signal } = stopping;
    const link: Link = { connection, names: this.#names, node: access.name };
    serveRequests({ ...link, ask, isOurs: () => heartbeat.isOurs, signal });
    const running = tasks.map(async (task) => {
      try {
        if (this.#diverged === null)
          await task(link, signal, (trouble, notice) => this.#report(trouble, notice));
      } catch (error) {
        if (error instanceof Diverged) this.#diverged = error.message;
        if (!signal.aborted) logger.error({ err: error }, 'a fleet task failed');
      }
    });
    return { stopping, done: Promise.all(running) };
  }

  #report(detail: string | null, notice: string | null): void {
    if (notice !== null && notice !== this.#notice) {
      this.#notice = notice;
      this.#deps.logger.warn({ node: this.#deps.access.name, detail: notice }, 'fleet');
    }
    const since = this.#trouble?.since ?? this.#deps.clock.monotonic();
    this.#trouble = detail === null ? null : { detail, since };
  }

  #heartbeat(connection: NatsConnection): Heartbeat {
    const { access, labels, self, load, clock, tasks } = this.#deps;
    const current = (): NodeHeartbeat => {
      const { state, detail } = this.status;
      const mirror = tasks.length === 0 ? 'off' : state === 'member' ? 'on' : 'failing';
      const about = { mirror, detail: detail?.slice(0, MAX_DETAIL) ?? null } as const;
      return { node: access.name, ...self, labels: [...labels], ...load(), ...about };
    };
    const bucket = new Bucket(connection, this.#names, this.#names.nodes);
    return new Heartbeat({ bucket, names: this.#names, clock, current });
  }

  #fail(error: unknown): void {
    const detail = errorMessage(error);
    this.#setStatus({
      state: this.#status.state === 'joining' ? 'joining' : 'unreachable',
      detail,
    });
  }

  /** Logs each change of the state, once. */
  #setStatus(status: MemberStatus): void {
    const before = this.#status;
    this.#status = status;
    if (before.state === status.state && before.detail === status.detail) return;
    const { logger, access } = this.#deps;
    const about = { fleet: access.fleet, node: access.name, state: status.state };
    if (status.detail === null) logger.info(about, 'fleet');
    else logger.warn({ ...about, detail: status.detail }, 'fleet');
  }
}

interface Work {
  stopping: AbortController;
  done: Promise<unknown>;
}

async function end(work: Work): Promise<null> {
  work.stopping.abort();
  await work.done;
  return null;
}

function reservedDetail(name: string): string {
  return `node name "${name}" belongs to a server with another event log: set another fleet.name; to replace that server permanently, stop it and run cadre fleet nodes replace ${name} --yes`;
}

function takenDetail(name: string): string {
  return `node name "${name}" is in use by another server: set another fleet.name, or stop the other server`;
}
