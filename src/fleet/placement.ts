import { createHash } from 'node:crypto';
import { AppError, unreachableError } from '../api/errors.ts';
import { parsedJson } from '../core/lib/parsed-json.ts';
import { type Bucket, Changed } from './bucket.ts';
import type { NodeHeartbeat } from './heartbeat.ts';

/**
 * The better of two random nodes among those that have all the labels and room; null where there is none. Everybody
 * sees the same numbers, up to two seconds old, so nobody takes the best one: all would take the same.
 */
export function chosenNode(
  nodes: readonly NodeHeartbeat[],
  labels: readonly string[],
  random: () => number,
): NodeHeartbeat | null {
  const fit = nodes.filter(
    (node) => labels.every((one) => node.labels.includes(one)) && node.live < node.max_live,
  );
  const [first, second] = [anyOf(fit, random), anyOf(fit, random)];
  if (first === null || second === null) return null;
  return loadOf(first) <= loadOf(second) ? first : second;
}

function anyOf<T>(all: readonly T[], random: () => number): T | null {
  return all[Math.min(all.length - 1, Math.floor(random() * all.length))] ?? null;
}

function loadOf({ live, max_live }: NodeHeartbeat): number {
  return live / max_live;
}

/** Why no node was chosen, for whoever wanted one. */
export function noRoom(nodes: readonly NodeHeartbeat[], labels: readonly string[]): AppError {
  const wanted = labels.length === 0 ? '' : ` with the label ${labels.join(' and ')}`;
  const fit = nodes.filter((node) => labels.every((one) => node.labels.includes(one)));
  if (nodes.length === 0)
    return unreachableError('no node of the fleet is alive: see cadre fleet nodes');
  return fit.length === 0
    ? new AppError('too_many', `no node of the fleet${wanted} is alive: see cadre fleet nodes`)
    : new AppError(
        'too_many',
        `all live nodes${wanted} already run their maximum number of agents: try again when a turn has ended`,
      );
}

/** Places of requests, by their idempotency keys. */
export class Placements {
  readonly #bucket: Bucket;

  constructor(bucket: Bucket) {
    this.#bucket = bucket;
  }

  /**
   * The node that a request goes to: the one that was kept under its key, by whichever client, else the one that
   * `choose` names, which is kept from now on.
   */
  async reserve(key: string, choose: () => Promise<string>): Promise<Reservation> {
    const at = placeKey(key);
    for (;;) {
      const { value, revision } = await this.#bucket.get(at);
      const kept = nodeIn(value);
      if (kept !== null) return { node: kept, revision };
      const node = await choose();
      try {
        return { node, revision: await this.#bucket.put(at, JSON.stringify({ node }), revision) };
      } catch (error) {
        // Somebody with the same key was faster: theirs counts.
        if (!(error instanceof Changed)) throw error;
      }
    }
  }

  /** Gives a place up, after the node has refused, and did nothing. Another client may have given it up already. */
  async release(key: string, { revision }: Reservation): Promise<void> {
    await this.#bucket.remove(placeKey(key), revision).catch((error: unknown) => {
      if (!(error instanceof Changed)) throw error;
    });
  }
}

/** Where a request goes. */
export interface Reservation {
  node: string;
  revision: number;
}

/** A key as the engine takes it: itself, or else its digest. */
function placeKey(key: string): string {
  return /^[\w-]{1,128}$/.test(key) ? key : createHash('sha256').update(key).digest('base64url');
}

function nodeIn(value: string | null): string | null {
  const { node } = (parsedJson(value ?? '') ?? {}) as { node?: unknown };
  return typeof node === 'string' ? node : null;
}
