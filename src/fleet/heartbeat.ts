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
 * Whether a server may take a name. `held`: whether it has already had it since it started. The living sign of another
 * server is in the way, unless that was an earlier start of this one: it has the same log and is from the same machine. A
 * server that held the name, and finds another start of itself there, was copied with its directory: it gives way, or the two
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
  const signs = [...found].flatMap(([key, text]) => {
    const sign = readHeartbeat(text);
    // NATS checks only the key: a heartbeat with the name of another node is ignored.
    return sign && isName(sign.node) && key === `alive.${sign.node}` ? sign : [];
  });
  return signs.toSorted((one, other) => (one.node < other.node ? -1 : 1));
}

interface HeartbeatDeps {
  bucket: Bucket;
  names: Names;
  clock: Clock;
  sign: () => NodeHeartbeat;
}

export class Heartbeat {
  readonly #deps: HeartbeatDeps;
  readonly #key: string;
  #revision = 0;
  #held = false;
  #until = 0;

  constructor(deps: HeartbeatDeps) {
    this.#deps = deps;
    this.#key = deps.names.alive(deps.sign().node);
  }

  /**
   * Whether the name is certainly ours: our sign cannot have expired yet. Only then may requests be answered, because
   * another server may have the name after that.
   */
  get isOurs(): boolean {
    return this.#deps.clock.monotonic() < this.#until;
  }

  /**
   * Renews the heartbeat. Returns whether the name belongs to this server; null: another live server has the name. Throws if the
   * NATS servers do not respond.
   */
  async renew(): Promise<boolean> {
    const own = this.#deps.sign();
    const asked = this.#deps.clock.monotonic();
    try {
      if (this.#revision === 0 && !(await this.#look(own))) return false;
      this.#revision = await this.#put(own);
    } catch (error) {
      if (!(error instanceof Changed)) throw error;
      // Expired, or somebody else's: look at it before the next attempt.
      this.#revision = 0;
      if (!(await this.#look(own))) return false;
      this.#revision = await this.#put(own);
    }
    this.#held = true;
    this.#until = asked + ALIVE_TTL_MS;
    return true;
  }

  /** Takes the sign away, so that nobody waits for its end. Does nothing where it is not ours. */
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
