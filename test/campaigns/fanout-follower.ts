import { once } from 'node:events';
import http from 'node:http';
import { crc32 } from 'node:zlib';
import { endpoints } from '../../src/api/index.ts';
import type { Client } from '../../src/client/client.ts';
import { settle } from '../support/settle.ts';
import type { UntypedEvent } from '../support/untyped-events.ts';

/** Digest that two readings are compared by, because a log of hundreds of megabytes is not kept. */
interface Kept {
  seq: number;
  kind: string;
  payload: { item_id: string | undefined; sum: number };
}

/** A reader of the runtime's stream that is cheap enough to be one of hundreds: it parses no record. */
export class Subscriber {
  /** The newest seq it has. */
  last = 0;
  events = 0;
  bytes = 0;
  /** Digest of all its frames, in their order. */
  sum = 0;
  /** The seqs that were not one more than the one before. */
  readonly jumps: number[] = [];
  gaps = 0;
  readonly #kept: Kept[] | null;
  readonly #response: http.IncomingMessage;
  readonly #looks = new Set<() => void>();
  readonly #onTaken: (follower: Subscriber) => void;
  #rest: Buffer = Buffer.alloc(0);

  private constructor(
    response: http.IncomingMessage,
    { keeps = false, onTaken = () => undefined }: FollowerOptions,
  ) {
    this.#response = response;
    this.#kept = keeps ? [] : null;
    this.#onTaken = onTaken;
    response.on('data', (chunk: Buffer) => this.#take(chunk));
    // Cut by the server or by `close`: what it waited for does not come, and the test says what is missing.
    response.once('error', () => undefined);
  }

  static async open(
    { url, token }: { url: string; token: string },
    options: FollowerOptions = {},
  ): Promise<Subscriber> {
    const request = http.get(new URL(options.path ?? '/v1/events/stream', url), {
      agent: false,
      headers: { authorization: `Bearer ${token}` },
    });
    const [response] = (await once(request, 'response')) as [http.IncomingMessage];
    if (response.statusCode !== 200)
      throw new Error(`the stream was refused with ${response.statusCode}`);
    return new Subscriber(response, options);
  }

  pause(): void {
    this.#response.pause();
  }

  resume(): void {
    this.#response.resume();
  }

  close(): void {
    this.#response.destroy();
  }

  /** Resolves once `enough` holds, which is looked at whenever something came. */
  until(enough: () => boolean): Promise<void> {
    return new Promise((resolve) => {
      const look = () => {
        if (!enough()) return;
        this.#looks.delete(look);
        resolve();
      };
      this.#looks.add(look);
      look();
    });
  }

  untilSeq(seq: number): Promise<void> {
    return this.until(() => this.last >= seq);
  }

  /** Result that every other reading of the same log must equal. */
  settled(): string[] {
    return settledOf(this.#kept ?? []);
  }

  #take(chunk: Buffer): void {
    this.bytes += chunk.length;
    const buffer = this.#rest.length > 0 ? Buffer.concat([this.#rest, chunk]) : chunk;
    let at = 0;
    for (let end = buffer.indexOf('\n\n'); end >= 0; end = buffer.indexOf('\n\n', at)) {
      this.#frame(buffer.subarray(at, end));
      at = end + 2;
    }
    this.#rest = buffer.subarray(at);
    this.#onTaken(this);
    for (const look of this.#looks) look();
  }

  #frame(lines: Buffer): void {
    const frame = withoutHeartbeats(lines);
    if (frame[0] === E) this.gaps++;
    if (frame[0] !== I) return;
    const seq = seqOf(frame);
    if (seq !== this.last + 1) this.jumps.push(seq);
    this.last = seq;
    this.events++;
    this.sum = crc32(frame, this.sum);
    this.#kept?.push(keptOfFrame(seq, frame));
  }
}

export interface FollowerOptions {
  path?: string;
  /** Keeps what `settled` needs. */
  keeps?: boolean;
  /** Called each time it has taken something. */
  onTaken?: (follower: Subscriber) => void;
}

/** The log as its replay has it, settled. */
export async function settledReplay(client: Client): Promise<string[]> {
  const kept: Kept[] = [];
  for (let after = 0, goesOn = true; goesOn;) {
    const query = { after_seq: after, limit: 10_000 };
    const { value, headers } = await client.ask(endpoints.replayEvents, { query });
    kept.push(...value.map(keptOf));
    goesOn = headers['x-next-after-seq'] !== undefined;
    after = Number(headers['x-next-after-seq'] ?? 0);
  }
  return settledOf(kept);
}

const E = 'e'.charCodeAt(0);
const I = 'i'.charCodeAt(0);
const ZERO = '0'.charCodeAt(0);
const LINE_END = '\n'.charCodeAt(0);

/** A frame from its `id` or `event` on: the `retry` of the stream and its pings are single lines before a frame. */
function withoutHeartbeats(lines: Buffer): Buffer {
  let frame = lines;
  while (frame.length > 0 && frame[0] !== I && frame[0] !== E) {
    const end = frame.indexOf(LINE_END);
    frame = end < 0 ? frame.subarray(frame.length) : frame.subarray(end + 1);
  }
  return frame;
}

/** The number of a frame that begins with `id: `. */
function seqOf(frame: Buffer): number {
  let seq = 0;
  for (let at = 4; (frame[at] ?? 0) >= ZERO; at++) seq = seq * 10 + (frame[at] ?? 0) - ZERO;
  return seq;
}

function keptOfFrame(seq: number, frame: Buffer): Kept {
  const kindAt = frame.indexOf('\nevent: ') + 8;
  const dataAt = frame.indexOf('\ndata: ', kindAt);
  const data = frame.subarray(dataAt + 7);
  const kind = frame.toString('utf8', kindAt, dataAt);
  const item_id = /"item_id":"(\w+)"/.exec(data.toString('latin1', 0, 1024))?.[1];
  return { seq, kind, payload: { item_id, sum: crc32(data) } };
}

function keptOf(record: UntypedEvent): Kept {
  const { seq, kind, payload } = record;
  const item_id = payload.item_id as string | undefined;
  return { seq, kind, payload: { item_id, sum: crc32(JSON.stringify(record)) } };
}

function settledOf(kept: readonly Kept[]): string[] {
  const settled: readonly UntypedEvent[] = settle(kept as unknown as UntypedEvent[]);
  return settled.map(({ seq, kind, payload }) => `${seq} ${kind} ${String(payload.sum)}`);
}
