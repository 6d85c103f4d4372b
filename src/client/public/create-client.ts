import { foreign, type Input, readText, send } from './http.ts';
import { Events } from './event-stream.ts';
import type { AnswerOf, Client, ListRoute, RecordOf, Route, ServerAddress } from './types.ts';

/** A client of the server at an address. Nothing is sent before the first request. */
export function createClient(server: ServerAddress): Client {
  return {
    url: server.url,
    async request<R extends Route>(route: R, ...[input = {}]: [input?: Input]) {
      return (await documentOf<R>(server, route, input)).value;
    },
    list: (route, ...[input = {}]: [input?: Input]) => pages(server, route, input),
    open: (route, ...[input = {}]: [input?: Input]) => send(server, route, input),
    streamEvents: (options = {}) => new Events(server, options),
  };
}

async function documentOf<R extends Route>(
  server: ServerAddress,
  route: R,
  input: Input,
): Promise<{ value: AnswerOf<R>; headers: Headers }> {
  const response = await send(server, route, input);
  const text = await readText(response, input.signal);
  const { headers } = response;
  const isJson = headers.get('content-type')?.startsWith('application/json') ?? false;
  try {
    const value: unknown = isJson ? JSON.parse(text) : text || undefined;
    return { value: value as AnswerOf<R>, headers };
  } catch {
    throw foreign(server.url, response);
  }
}

async function* pages<R extends ListRoute>(
  server: ServerAddress,
  route: R,
  input: Input,
): AsyncGenerator<RecordOf<R>, void> {
  let cursor = input.query?.cursor;
  do {
    const query = { ...input.query, cursor };
    const { value, headers } = await documentOf(server, route, { ...input, query });
    yield* value as RecordOf<R>[];
    cursor = headers.get('x-next-cursor') ?? undefined;
  } while (cursor !== undefined);
}
