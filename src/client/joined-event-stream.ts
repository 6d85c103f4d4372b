import type { StreamGap } from '../api/events.ts';
import { endpoints } from '../api/index.ts';
import { AppError, conflictError, usageError } from '../api/errors.ts';
import type { Clock } from '../core/lib/clock.ts';
import { parsedJson } from '../core/lib/parsed-json.ts';
import { type Address, within } from './address.ts';
import type { Client } from './client.ts';
import { Channel } from './channel.ts';
import { seqBefore, storedEvents } from './replay.ts';
import type { FollowAll, ServersEventStream, FromServer, Notice } from './servers.ts';
import { streamEvents } from './stream.ts';
import { describeGap } from './event-summary.ts';

/** A server that does not answer is asked again after this time. */
const RETRY_MS = 1000;

interface Position {
  epoch: string;
  seq: number;
}

/** The events of several servers, each read from its own log. */
export class JoinedEventStream implements ServersEventStream {
  readonly #addresses: readonly Address<Client>[];
  readonly #clock: Clock;
  readonly #options: FollowAll;
  readonly #signal: AbortSignal;
  /** The positions by the names of the servers. Servers of the cursor that were not reached yet are included. */
  readonly #positions: Map<string, Position>;

  constructor(
    addresses: readonly Address<Client>[],
    clock: Clock,
    options: FollowAll,
    signal: AbortSignal,
  ) {
    this.#addresses = addresses;
    this.#clock = clock;
    this.#options = options;
    this.#signal = signal;
    this.#positions = positionsIn(options.from);
  }

  cursor(): string {
    return JSON.stringify(Object.fromEntries(this.#positions));
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<FromServer, void> {
    for await (const one of this.#options.isStoredOnly ? this.#stored() : this.#live()) {
      const position = this.#positions.get(one.node);
      if (position && 'event' in one) position.seq = one.event.seq;
      yield one;
    }
  }

  #stored(): AsyncIterable<FromServer> {
    return byTime(this.#addresses.map((address) => this.#storedOf(address)));
  }

  async *#storedOf({ name: node, client }: Address<Client>): AsyncGenerator<FromServer, void> {
    try {
      if (client instanceof AppError) throw client;
      const position = await this.#positionOf(node, client);
      this.#positions.set(node, position);
      const gaps: StreamGap[] = [];
      const scope = { kinds: this.#options.kinds };
      const events = storedEvents(client, scope, position.seq, (gap) => void gaps.push(gap));
      for await (const event of events) {
        for (const gap of gaps.splice(0)) yield { node, notice: gapNotice(gap) };
        yield { node, event };
      }
      for (const gap of gaps) yield { node, notice: gapNotice(gap) };
    } catch (error) {
      if (!isAbsence(error)) throw error;
      yield { node, notice: { state: 'unreachable', detail: error.message } };
    }
  }

  async *#live(): AsyncGenerator<FromServer, void> {
    // An error of one reader ends the others.
    const ended = new AbortController();
    const signal = AbortSignal.any([ended.signal, this.#signal]);
    const channel = new Channel<FromServer>();
    for (const address of this.#addresses)
      channel.add(() => this.#read(address, (one) => channel.put(one), signal));
    try {
      yield* channel;
    } finally {
      ended.abort();
    }
  }

  async #read(
    { name: node, client }: Address<Client>,
    put: (one: FromServer) => Promise<void>,
    signal: AbortSignal,
  ): Promise<void> {
    const notify = (notice: Notice) => void put({ node, notice });
    if (client instanceof AppError) return notify({ state: 'unreachable', detail: client.message });
    const position = await this.#begin(node, client, notify, signal);
    if (!position) return;
    this.#positions.set(node, position);
    notify({ state: 'reachable' });
    const { kinds, reconnectMs } = this.#options;
    const events = streamEvents({
      client,
      clock: this.#clock,
      kinds,
      after: position.seq,
      signal,
      reconnectMs,
      onGap: (gap) => notify(gapNotice(gap)),
      onConnection: (state) =>
        notify(
          state.lost
            ? { state: 'unreachable', detail: awayText(node, state.error) }
            : { state: 'reachable' },
        ),
    });
    try {
      for await (const event of events) await put({ node, event });
    } catch (error) {
      if (!isAbsence(error)) throw error;
      throw new AppError(error.code, awayText(node, error), { cause: error });
    }
  }

  /** Where the log of a server is read from, once it answers; null where nobody waits for it any more. */
  async #begin(
    node: string,
    client: Client,
    notify: (notice: Notice) => void,
    signal: AbortSignal,
  ): Promise<Position | null> {
    const began = this.#clock.monotonic();
    for (let isFirst = true; !signal.aborted; isFirst = false) {
      try {
        return await this.#positionOf(node, client);
      } catch (error) {
        if (!isAbsence(error)) throw error;
        if (isFirst) notify({ state: 'unreachable', detail: error.message });
        const waited = this.#clock.monotonic() - began;
        if (waited >= (this.#options.reconnectMs ?? Number.POSITIVE_INFINITY)) throw error;
        await this.#clock.sleep(RETRY_MS, signal).catch(() => undefined);
      }
    }
    return null;
  }

  /** Where the log of a server is read from. Throws `conflict` where the cursor is of another log. */
  async #positionOf(node: string, client: Client): Promise<Position> {
    const { from } = this.#options;
    const { value, headers } = await within(this.#clock, (signal) =>
      client.ask(endpoints.getVersion, {}, signal),
    );
    const { epoch } = value;
    const known = this.#positions.get(node);
    if (known && known.epoch !== epoch)
      throw conflictError(
        `the event cursor does not match the event log of server ${node}, because the data of that server was replaced: read the events again without a cursor`,
      );
    if (known) return known;
    if (from === 'latest') return { epoch, seq: Number(headers['x-seq'] ?? 0) };
    if (typeof from === 'string' || 'cursor' in from) return { epoch, seq: 0 };
    return { epoch, seq: await seqBefore(client, from.since) };
  }
}

/** Whether an error concerns one server alone: the others are asked nevertheless. A mistake of the request does not. */
function isAbsence(error: unknown): error is AppError {
  return error instanceof AppError && !['conflict', 'invalid', 'usage'].includes(error.code);
}

/** Why a server does not answer, with its name. */
function awayText(node: string, { message }: AppError): string {
  return message.startsWith(node) ? message : `${node} is unreachable: ${message}`;
}

function gapNotice(gap: StreamGap): Notice {
  return { state: 'gap', text: describeGap(gap) };
}

/** The positions in a cursor. Throws `usage` for any other text. */
function positionsIn(from: FollowAll['from']): Map<string, Position> {
  if (typeof from === 'string' || !('cursor' in from)) return new Map();
  const wrong = usageError(
    'invalid cursor: expected the cursor of an event stream of several servers',
  );
  const found = parsedJson(from.cursor);
  if (typeof found !== 'object' || found === null) throw wrong;
  const positions = new Map<string, Position>();
  for (const [node, position] of Object.entries(found)) {
    const { epoch, seq } = (position ?? {}) as Partial<Position>;
    if (typeof epoch !== 'string' || !Number.isSafeInteger(seq)) throw wrong;
    positions.set(node, { epoch, seq: seq as number });
  }
  return positions;
}

/** The events of several readers by the time at which they were stored. The events of one reader keep their order. */
async function* byTime(
  readers: readonly AsyncGenerator<FromServer, void>[],
): AsyncGenerator<FromServer, void> {
  const heads = await Promise.all(readers.map(headOf));
  for (;;) {
    const [first, ...others] = heads.filter((head) => head !== null);
    if (!first) return;
    const next = others.reduce(
      (least, head) => (timeOf(head) < timeOf(least) ? head : least),
      first,
    );
    yield next.value;
    heads[heads.indexOf(next)] = await headOf(next.reader);
  }
}

interface Head {
  value: FromServer;
  reader: AsyncGenerator<FromServer, void>;
}

async function headOf(reader: Head['reader']): Promise<Head | null> {
  const { done, value } = await reader.next();
  return done ? null : { value, reader };
}

/** A notice has no time: it comes at once. */
function timeOf({ value }: Head): number {
  return 'event' in value ? value.event.created_at : 0;
}
