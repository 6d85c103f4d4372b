import { matches } from '../api/events.ts';
import { Channel } from '../client/channel.ts';
import type {
  FollowAll,
  ServersEventStream,
  FromServer,
  Notice,
  ServerEntry,
} from '../client/servers.ts';
import { FleetCursor } from './cursor.ts';
import { readEvent } from './mirrored.ts';
import {
  type Begin,
  type FleetItem,
  type FleetNotice,
  readFleet,
  type ReaderParts,
} from './reader.ts';

/** How often it is looked which nodes are alive, in ms. */
const LOOK_MS = 2000;

export interface FleetEventStreamParts extends Pick<ReaderParts, 'stream' | 'fill' | 'clock'> {
  /** All nodes, as they are now. */
  list: () => Promise<FollowedNode[]>;
  /** Whether the events of a node are wanted. */
  isFollowed: (node: string) => Promise<boolean>;
}

export interface FollowedNode extends ServerEntry {
  /** Why the fleet gets no events of it, and what to do instead; null where it does. */
  remark: string | null;
}

/** The events of a fleet in the order of its stream. Nodes that do not answer are included. */
export class FleetEventStream implements ServersEventStream {
  readonly #parts: FleetEventStreamParts;
  readonly #options: FollowAll;
  readonly #signal: AbortSignal;
  readonly #cursor: FleetCursor;

  /** Throws `usage` for a cursor of anything but a fleet. */
  constructor(parts: FleetEventStreamParts, options: FollowAll, signal: AbortSignal) {
    this.#parts = parts;
    this.#options = options;
    this.#signal = signal;
    this.#cursor = cursorOf(options.from);
  }

  cursor(): string {
    return this.#cursor.toString();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<FromServer, void> {
    const over = new AbortController();
    const signal = AbortSignal.any([this.#signal, over.signal]);
    if (this.#options.isStoredOnly) {
      for (const { name, remark } of (await this.#wanted()) ?? [])
        if (remark !== null) yield { node: name, notice: { state: 'gap', text: remark } };
      return yield* this.#events(signal);
    }
    const channel = new Channel<FromServer>();
    channel.add(async () => {
      for await (const one of this.#events(signal)) await channel.put(one);
    });
    channel.add(() => this.#presence((one) => channel.put(one), signal));
    try {
      yield* channel;
    } finally {
      over.abort();
    }
  }

  async *#events(signal: AbortSignal): AsyncGenerator<FromServer, void> {
    const { stream, fill, clock, isFollowed } = this.#parts;
    const { from, isStoredOnly } = this.#options;
    const begin: Begin = typeof from === 'object' && 'cursor' in from ? 'start' : from;
    const items = readFleet(
      { stream, fill, clock, cursor: this.#cursor },
      { follow: isStoredOnly !== true, signal, begin },
    );
    for await (const item of items) {
      const one = this.#itemForReaders(item);
      if (one && (await isFollowed(one.node))) yield one;
    }
  }

  /** Returns null for an item that readers do not need. */
  #itemForReaders(item: FleetItem): FromServer | null {
    if ('notice' in item) return noticeForReaders(item.notice);
    const { node, epoch, seq, kind, text } = item.event;
    const { kinds } = this.#options;
    if (kinds && !kinds.some((pattern) => matches(pattern, kind))) return null;
    const event = readEvent(text, { seq, kind });
    const why = `event ${seq} of kind ${kind} does not match the schema of this version`;
    return event ? { node, epoch, event } : { node, notice: { state: 'gap', text: why } };
  }

  /** Reports which nodes are alive, and each change. */
  async #presence(put: (one: FromServer) => Promise<void>, signal: AbortSignal): Promise<void> {
    const states = new Map<string, ServerEntry['state']>();
    const remarks = new Map<string, string | null>();
    while (!signal.aborted) {
      for (const { name, state, detail, remark } of await this.#present([...states.keys()])) {
        const notices: Notice[] = [];
        if (states.get(name) !== state)
          notices.push(
            state === 'reachable'
              ? { state }
              : { state, detail: detail ?? `${name} is unreachable` },
          );
        if (remark !== null && remarks.get(name) !== remark)
          notices.push({ state: 'gap', text: remark });
        states.set(name, state);
        remarks.set(name, remark);
        for (const notice of notices)
          await Promise.race([put({ node: name, notice }), aborted(signal)]);
      }
      await this.#parts.clock.sleep(LOOK_MS, signal).catch(() => undefined);
    }
  }

  /**
   * The followed nodes, and the nodes of `known` that have left the list. A dead node stays in the list only if it has events
   * in the stream and no labels are wanted.
   */
  async #present(known: readonly string[]): Promise<Present[]> {
    const nodes = await this.#wanted();
    if (nodes === null) return [];
    const listed = new Set(nodes.map(({ name }) => name));
    const gone = known.filter((name) => !listed.has(name));
    return [
      ...nodes,
      ...gone.map((name): Present => ({
        name,
        state: 'unreachable',
        detail: `node "${name}" is no longer among the live nodes: see cadre fleet nodes`,
        remark: null,
      })),
    ];
  }

  /** The nodes that are followed. Null without NATS, because nobody knows. */
  async #wanted(): Promise<FollowedNode[] | null> {
    const all = await this.#parts.list().catch(() => null);
    return all && all.filter(({ name }) => (this.#options.node ?? name) === name);
  }
}

type Present = Pick<FollowedNode, 'name' | 'state' | 'detail' | 'remark'>;

function cursorOf(from: FollowAll['from']): FleetCursor {
  return typeof from === 'object' && 'cursor' in from
    ? FleetCursor.parse(from.cursor)
    : FleetCursor.start();
}

function noticeForReaders(notice: FleetNotice): FromServer | null {
  const { node } = notice;
  if (node === null) return null;
  if (notice.kind === 'epoch') {
    const { from, to } = notice.mark;
    const text =
      to.after > 0
        ? `the server continues from a copy of its log that ends at event ${to.after}: earlier events up to ${from.seq} are not in it`
        : 'the server has a new event log';
    return { node, notice: { state: 'gap', text } };
  }
  const text = `events between ${notice.after} and ${notice.up_to} are missing: ${notice.why}`;
  return { node, notice: { state: 'gap', text } };
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
