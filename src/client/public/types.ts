import type { CadreError } from './error.ts';
import type {
  DescribedEvent,
  KindPattern,
  RawRoutes,
  Routes,
  StreamGap,
} from '#generated/interface.ts';

/** The address of a server, and the token for it. */
export interface ServerAddress {
  /** `http://HOST:PORT`. */
  url: string;
  token: string;
}

/** A route that answers with one document, as `METHOD PATH`. */
export type Route = keyof Routes;
/** A route that answers with a stream or a file. */
export type RawRoute = keyof RawRoutes;
/** A route that answers with a list, page by page. */
export type ListRoute = {
  [R in Route]: Routes[R] extends { query?: { cursor?: string | undefined } | undefined }
    ? R
    : never;
}[Route];

type RouteOf<R extends Route | RawRoute> = (Routes & RawRoutes)[R];

/** The input of a route: its `params`, `query` and `body`. */
export type InputOf<R extends Route | RawRoute> = Omit<RouteOf<R>, 'answer'> & {
  /** Ends the request, which then fails with the reason of the signal. */
  signal?: AbortSignal | undefined;
  /** For POST: a request that is repeated with the same key within a day is carried out once. */
  idempotencyKey?: string | undefined;
};
/** The document of the response of a route. */
export type AnswerOf<R extends Route> = Routes[R]['answer'];
/** One record of a list. */
export type RecordOf<R extends ListRoute> =
  AnswerOf<R> extends ReadonlyArray<infer One> ? One : never;

/** The input of a route, which may be left out where the route needs none. */
export type InputArgs<R extends Route | RawRoute> =
  object extends InputOf<R> ? [input?: InputOf<R>] : [input: InputOf<R>];

/** A kind of event that this version of the client has. */
export type EventKind = DescribedEvent['kind'];
/** An event of a kind. */
export type EventOf<K extends EventKind> = Extract<DescribedEvent, { kind: K }>;
/** The events that match a filter: a kind, or a group such as `turn.*`. */
export type EventMatching<P extends KindPattern> = P extends `${infer Group}.*`
  ? Extract<DescribedEvent, { kind: `${Group}.${string}` }>
  : Extract<DescribedEvent, { kind: P }>;

export interface StreamOptions<P extends KindPattern> {
  /** Only events of these kinds, or groups of kinds. */
  kinds?: readonly P[] | undefined;
  /** Only events of this session. At most one of `sessionId`, `processId` and `teamId` is given. */
  sessionId?: string | undefined;
  /** Only events of this process. */
  processId?: string | undefined;
  /** Only events of this team. */
  teamId?: string | undefined;
  /** Only events after this seq; `latest`: only new ones. Default: from the start of the log. */
  after?: number | 'latest' | undefined;
  /** The `cursor` of an earlier stream: this stream continues after it. It takes precedence over `after`. */
  cursor?: string | undefined;
  /** Ends the stream. */
  signal?: AbortSignal | undefined;
  /** For how long a lost connection is opened again, in ms; the stream then throws `unreachable`. Default: for ever. */
  reconnectMs?: number | undefined;
  /** Called when the connection is lost, and when it is back. */
  onConnection?: ((state: ConnectionState) => void) | undefined;
  /** Called where events are missing before the next one, because the server has removed them. */
  onGap?: ((gap: StreamGap) => void) | undefined;
}

export type ConnectionState = { lost: true; error: CadreError } | { lost: false };

/** Events in order, each exactly once. It is read once. */
export interface EventStream<Event> extends AsyncIterable<Event> {
  /** Where the stream stands: behind the last event that was read. Null until the first connection is open. */
  readonly cursor: string | null;
  [Symbol.asyncIterator](): AsyncGenerator<Event, void>;
}

/** A client of one server. It holds no connection open beyond its requests and streams, so nothing has to be closed. */
export interface Client {
  /** The address of the server. */
  readonly url: string;

  /**
   * Sends a request, and resolves with the document of the answer; with undefined where the route answers with none.
   * Rejects with a CadreError.
   */
  request<R extends Route>(route: R, ...input: InputArgs<R>): Promise<AnswerOf<R>>;

  /** All records of a list, newest first, read page by page. Throws a CadreError. */
  list<R extends ListRoute>(route: R, ...input: InputArgs<R>): AsyncGenerator<RecordOf<R>, void>;

  /** Sends a request, and resolves with the answer, its body unread. Rejects with a CadreError. */
  open<R extends RawRoute>(route: R, ...input: InputArgs<R>): Promise<Response>;

  /**
   * Follows the log: stored events first, then new ones as they come. A lost connection is opened again after the last
   * event that was read, also after a restart of the server. Throws a CadreError: `conflict` where the log was replaced,
   * so that a cursor says nothing of it, and whatever the server refuses. Events of kinds that a newer server has added
   * are passed over.
   */
  streamEvents<P extends KindPattern = KindPattern>(
    options?: StreamOptions<P>,
  ): EventStream<EventMatching<P>>;
}
