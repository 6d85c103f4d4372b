import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { json } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Dialect, ModelRequest } from './dialects/dialect.ts';
import { anthropicMessages } from './dialects/anthropic-messages.ts';
import { googleGenerate } from './dialects/google-generate.ts';
import { openAiChat } from './dialects/openai-chat.ts';
import { openAiResponses } from './dialects/openai-responses.ts';
import { findInstruction, type Piece, planReply, type Reply } from './script.ts';

/** One model call, as a test may want to assert it. */
export interface RecordedRequest {
  dialect: string;
  model: string;
  effort?: string;
  /** The script that was followed, without its marker. */
  script?: string;
  /** The tool output that the agent brought back for it. */
  toolResult?: string;
  /** The names of the tools the agent offered. */
  tools: readonly string[];
  /** The login that the agent sent: a header, or the key alone. */
  authorization?: string;
  /** Whether the agent hung up before the answer was complete, as on a cancelled turn. */
  aborted: boolean;
}

/** A running model server. Disposing it ends its streams and frees its port. */
export interface ModelServer extends AsyncDisposable {
  /** `http://127.0.0.1:PORT`, without a path. */
  url: string;
  /** Every model call so far, oldest first. Agents make calls of their own, for titles: do not count them. */
  requests: readonly RecordedRequest[];
  /** Whatever else was asked of the server, such as `GET /v1/models`, and the calls it could not read. */
  unexpected: readonly string[];
}

interface Log {
  requests: RecordedRequest[];
  unexpected: string[];
  /** The scripts that were refused by a usage limit. */
  limited: Set<string>;
}

const dialects: readonly Dialect[] = [
  openAiChat,
  openAiResponses,
  anthropicMessages,
  googleGenerate,
];

/** Starts a model API that answers as the user's message says (see {@link planReply}). */
export async function startModelServer(): Promise<ModelServer> {
  const log: Log = { requests: [], unexpected: [], limited: new Set() };
  const server = createServer((request, response) => void handle(request, response, log));
  // Loopback alone: it answers anyone who asks.
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { url: urlOf(server), ...log, [Symbol.asyncDispose]: () => stop(server) };
}

async function handle(request: IncomingMessage, response: ServerResponse, log: Log): Promise<void> {
  const path = new URL(request.url ?? '/', 'http://localhost').pathname;
  const asked = `${request.method} ${path}`;
  // Codex tries a socket first where the API is OpenAI's own, and continues without one.
  if (request.headers.upgrade) return sendJson(response, 426, {});
  const dialect = dialects.find((candidate) => candidate.serves(path));
  if (request.method !== 'POST' || !dialect) {
    log.unexpected.push(asked);
    return sendJson(response, 404, { error: { message: `no route ${asked}` } });
  }
  try {
    await follow(dialect, dialect.read(await json(request), path), request, response, log);
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    log.unexpected.push(`${asked}: ${message}`);
    // With the head gone there is nothing left to say but that the stream is broken.
    if (response.headersSent) response.destroy();
    else sendJson(response, 400, dialect.failure(400, message));
  }
}

async function follow(
  dialect: Dialect,
  { model, effort, messages, tools }: ModelRequest,
  request: IncomingMessage,
  response: ServerResponse,
  log: Log,
): Promise<void> {
  const instruction = findInstruction(messages);
  const { 'x-api-key': key = request.headers['x-goog-api-key'] } = request.headers;
  const { authorization = key?.toString() } = request.headers;
  const record: RecordedRequest = {
    dialect: dialect.name,
    model,
    ...(effort !== undefined && { effort }),
    ...instruction,
    tools: tools.map(({ name }) => name),
    ...(authorization !== undefined && { authorization }),
    aborted: false,
  };
  log.requests.push(record);

  const planned = planReply(instruction, tools);
  if (planned.kind === 'limit' && !log.limited.has(instruction.script ?? '')) {
    log.limited.add(instruction.script ?? '');
    return refuseByLimit(dialect, planned.seconds, response);
  }
  const reply = planned.kind === 'limit' ? planned.next : planned;
  if (reply.kind !== 'answer') {
    const status = reply.kind === 'error' ? reply.status : 400;
    return sendJson(response, status, dialect.failure(status, 'scripted error'));
  }
  record.aborted = !(await stream(dialect, model, reply, response));
}

/** Refuses a request by a usage limit that resets after some seconds; it is a whole second, as the APIs have it. */
function refuseByLimit(dialect: Dialect, seconds: number, response: ServerResponse): void {
  const refusal = dialect.limit?.(Math.ceil(Date.now() / 1000) + seconds);
  const { headers = {}, body = dialect.failure(429, 'scripted limit') } = refusal ?? {};
  sendJson(response, 429, body, headers);
}

/** Streams the answer, and reports whether the agent stayed connected until the end. */
async function stream(
  dialect: Dialect,
  model: string,
  { pieces, call, breaksOff }: Extract<Reply, { kind: 'answer' }>,
  response: ServerResponse,
): Promise<boolean> {
  const gone = new AbortController();
  response.once('close', () => gone.abort());
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' });
  const answer = { model, pieces: paced(pieces, breaksOff, gone.signal), ...(call && { call }) };
  try {
    for await (const text of dialect.write(answer)) response.write(text);
  } catch (error) {
    if (gone.signal.aborted) return false;
    if (!(error instanceof BreakOff)) throw error;
    response.write(dialect.breakOff(error.message));
  }
  response.end();
  return !gone.signal.aborted;
}

/** Says that an answer ends before its end, with a code. */
class BreakOff extends Error {}

async function* paced(
  pieces: readonly Piece[],
  breaksOff: string | undefined,
  gone: AbortSignal,
): AsyncIterable<Piece> {
  for (const piece of pieces) {
    gone.throwIfAborted();
    if (piece.delayMs) await sleep(piece.delayMs, undefined, { signal: gone });
    yield piece;
  }
  if (breaksOff !== undefined) throw new BreakOff(breaksOff);
}

function sendJson(
  response: ServerResponse,
  status: number,
  body: object,
  headers: Record<string, string> = {},
): void {
  response.writeHead(status, { ...headers, 'content-type': 'application/json' });
  response.end(JSON.stringify(body));
}

function urlOf(server: Server): string {
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('model server has no port');
  return `http://127.0.0.1:${address.port}`;
}

async function stop(server: Server): Promise<void> {
  if (!server.listening) return;
  const closed = once(server, 'close');
  server.close();
  // Agents keep their connections open, and close() would wait for them.
  server.closeAllConnections();
  await closed;
}
