import { z } from 'zod';
import type { Clock } from '../core/lib/clock.ts';
import { parsedJson } from '../core/lib/parsed-json.ts';
import { type Bucket, Changed } from './bucket.ts';
import { ALIVE_TTL_MS, isName, type Names } from './names.ts';

const count = z
  .int()
  .transform((one) => Math.max(0, one))
  .catch(0);

/** The heartbeat of a node, every two seconds. Another version may write fields that this one does not understand. */
export const nodeHeartbeat = z.object({
  node: z.string(),
  /** The start of the server: another one for each. */
  instance: z.string(),
  /** The epoch of its event log. */
  epoch: z.string(),
  /** Identifies the machine without naming it. */
  machine: z.string(),
  version: z.string(),
  labels: z
    .array(z.unknown())
    .catch([])
    .transform((all) => all.filter((one) => typeof one === 'string')),
  /** How many agents run, and how many may. */
  live: count,
  max_live: count,
  /** Whether its events are copied to the fleet. */
  mirror: z.enum(['on', 'off', 'failing']).catch('on'),
  /** Why the copying fails, and what to do about it; null where it does not. */
  detail: z.string().nullable().catch(null),
});

export type NodeHeartbeat = z.output<typeof nodeHeartbeat>;

/** The fields of a heartbeat that identify its server. */
export type Identity = Pick<NodeHeartbeat, 'instance' | 'epoch' | 'machine'>;

/**
 * Whether a server may take a name. `held`: whether it has had the name since it started. It may not if another server has
 * a heartbeat under the name, unless that server was an earlier start of this one: with the same log, on the same machine. If
 * a server that held the name finds another start of itself, its data directory was copied: it gives way, or the two servers
 * would take the name from each other for ever.
 */
export function mayTake(own: Identity, found: Identity | null, held: boolean): boolean {
  if (found === null || found.instance === own.instance) return true;
  return !held && found.epoch === own.epoch && found.machine === own.machine;
}

/** The heartbeat in the text of a key. Null if the text has another form. */
export function readHeartbeat(text: string | null): NodeHeartbeat | null {
  return nodeHeartbeat.safeParse(parsedJson(text ?? '')).data ?? null;
}

/** The living nodes, by name. */
export async function livingNodes(bucket: Bucket): Promise<NodeHeartbeat[]> {
  const found = await bucket.all('alive.*');
  const heartbeats = [...found].flatMap(([key, text]) => {
    const heartbeat = readHeartbeat(text);
    // NATS checks only the key: a heartbeat with the name of another node is ignored.
    return heartbeat && isName(heartbeat.node) && key === `alive.${heartbeat.node}`
      ? heartbeat
      : [];
  });
  return heartbeats.toSorted((one, other) => (one.node < other.node ? -1 : 1));
}

interface HeartbeatDeps {
  bucket: Bucket;
  names: Names;
  clock: Clock;
  current: () => NodeHeartbeat;
}

export class Heartbeat {
  readonly #deps: HeartbeatDeps;
  readonly #key: string;
  #revision = 0;
  #held = false;
  #until = 0;

  constructor(deps: HeartbeatDeps) {
    this.#deps = deps;
    this.#key = deps.names.alive(deps.current().node);
  }

  /**
   * Whether the name certainly belongs to this server, because its heartbeat cannot have expired yet. Only then may it answer
   * requests: later, another server may have the name.
   */
  get isOurs(): boolean {
    return this.#deps.clock.monotonic() < this.#until;
  }

  /**
   * Renews the heartbeat. Returns whether the name belongs to this server; null: another live server has the name. Throws if the
   * NATS servers do not respond.
   */
  async renew(): Promise<boolean> {
    const own = this.#deps.current();
    const asked = this.#deps.clock.monotonic();
    try {
      if (this.#revision === 0 && !(await this.#look(own))) return false;
      this.#revision = await this.#put(own);
    } catch (error) {
      if (!(error instanceof Changed)) throw error;
      // The heartbeat has expired, or is of another server: read it before the next attempt.
      this.#revision = 0;
      if (!(await this.#look(own))) return false;
      this.#revision = await this.#put(own);
    }
    this.#held = true;
    this.#until = asked + ALIVE_TTL_MS;
    return true;
  }

  /** Removes the heartbeat, so that nobody waits until it expires. Does nothing if the name belongs to another server. */
  async end(): Promise<void> {
    if (!this.isOurs) return;
    this.#until = 0;
    await this.#deps.bucket.remove(this.#key, this.#revision);
  }

  #put(own: NodeHeartbeat): Promise<number> {
    return this.#deps.bucket.put(this.#key, JSON.stringify(own), this.#revision, TTL);
  }

  /** Reads what is there, to replace it. Returns whether it may be replaced. */
  async #look(own: NodeHeartbeat): Promise<boolean> {
    const { value, revision } = await this.#deps.bucket.get(this.#key);
    const isFree = mayTake(own, readHeartbeat(value), this.#held);
    if (isFree) this.#revision = revision;
    else this.#until = 0;
    return isFree;
  }
}

const TTL = `${ALIVE_TTL_MS / 1000}s`;
