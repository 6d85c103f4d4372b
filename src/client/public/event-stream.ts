import { eventPaths } from '../../api/event-scopes.ts';
import { systemClock } from '../../core/lib/clock.ts';
import { scopeInput } from '../event-scope.ts';
import { eventsIn, parseFrames } from '../frames.ts';
import { resume } from '../resume.ts';
import { LOST, STREAM_ENDED } from '../wire.ts';
import { CadreError } from './error.ts';
import { eventKinds } from '#generated/event-kinds.ts';
import type { EventMatching, EventStream, ServerAddress, StreamOptions } from './types.ts';
import { send } from './http.ts';
import type { DescribedEvent, KindPattern } from '#generated/interface.ts';

interface Position {
  epoch: string;
  seq: number;
}

/** The events of a server, as `Client.streamEvents` promises them. */
export class Events<P extends KindPattern> implements EventStream<EventMatching<P>> {
  readonly #server: ServerAddress;
  readonly #options: StreamOptions<P>;
  #position: Position | null;

  constructor(server: ServerAddress, options: StreamOptions<P>) {
    this.#server = server;
    this.#options = options;
    this.#position = options.cursor === undefined ? null : positionIn(options.cursor);
  }

  get cursor(): string | null {
    return this.#position && `${this.#position.epoch}:${this.#position.seq}`;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<EventMatching<P>, void> {
    const { after = 0, signal, reconnectMs, onConnection } = this.#options;
    const events = resume<DescribedEvent, CadreError>(
      {
        open: (seq) => this.#connection(seq),
        isLost,
        ended: () => new CadreError('unreachable', STREAM_ENDED),
      },
      {
        clock: systemClock,
        after: this.#position?.seq ?? after,
        signal,
        reconnectMs,
        onConnection: (state) =>
          onConnection?.(state.lost ? { lost: true, error: state.error } : { lost: false }),
      },
    );
    for await (const event of events) {
      if (signal?.aborted) return;
      if (this.#position) this.#position.seq = event.seq;
      if (eventKinds.has(event.kind)) yield event as EventMatching<P>;
    }
  }

  async *#connection(
    after: number | 'latest',
  ): AsyncGenerator<DescribedEvent | { latestSeq: number }, void> {
    const { signal, onGap } = this.#options;
    const { name, params, query } = scopeInput(this.#options);
    const input = { params, query: { after_seq: after, ...query }, signal };
    const response = await send(this.#server, `GET ${eventPaths[name]}/stream`, input);
    const latestSeq = Number(response.headers.get('x-seq') ?? 0);
    this.#stay(response.headers.get('x-epoch') ?? '', after === 'latest' ? latestSeq : after);
    yield { latestSeq };
    const lost = (cause: unknown) => new CadreError('unreachable', LOST, { cause });
    const unreadable = (message: string) => new CadreError('unreachable', message);
    yield* eventsIn<DescribedEvent>(parseFrames(textOf(response), lost), onGap, unreadable);
  }

  /** Throws `conflict` where the log is another than before: its seqs mean other events. */
  #stay(epoch: string, seq: number): void {
    this.#position ??= { epoch, seq };
    if (this.#position.epoch === epoch) return;
    throw new CadreError(
      'conflict',
      'the event cursor is from an older event log, because the data of the server was replaced: read the events again without a cursor',
    );
  }
}

async function* textOf({ body }: Response): AsyncGenerator<string, void> {
  if (!body) return;
  const decoder = new TextDecoder();
  for await (const bytes of body as AsyncIterable<Uint8Array>)
    yield decoder.decode(bytes, { stream: true });
}

/** Whether a server may answer later: none did, or what stands in front of it says that it is away. */
function isLost(error: unknown): error is CadreError {
  return (
    error instanceof CadreError &&
    error.code === 'unreachable' &&
    (error.status === null || error.status >= 500)
  );
}

function positionIn(cursor: string): Position {
  const [, epoch = '', seq] = /^(\w+):(\d+)$/.exec(cursor) ?? [];
  if (seq === undefined)
    throw new CadreError(
      'invalid',
      `invalid cursor "${cursor}": expected the cursor of an event stream`,
    );
  return { epoch, seq: Number(seq) };
}
