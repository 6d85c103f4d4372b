import { once } from 'node:events';
import http from 'node:http';
import { buffer } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';

/** A part of a message to the model. */
export interface Part {
  type?: string;
  text?: string;
  /** OpenAI's two interfaces differ in this. */
  image_url?: string | { url: string };
  source?: { media_type?: string; data?: string };
  content?: string | Part[];
  inlineData?: { mimeType: string; data: string };
}

/**
 * A message to the model, as OpenAI's chat completions and responses have it, or Anthropic's messages; `parts`
 * are Google's.
 */
export interface ChatMessage {
  content?: string | Part[] | null;
  parts?: Part[];
}

export function partsOf({ parts, content = parts }: ChatMessage): Part[] {
  return typeof content === 'string' ? [{ type: 'text', text: content }] : (content ?? []);
}

export function textOf({ text = '' }: Part): string {
  return text;
}

/** Proxy between an agent and its model, which keeps the messages of the agent unchanged. */
export interface ModelTap extends AsyncDisposable {
  /** `http://127.0.0.1:PORT`, without a path. */
  url: string;
  /** The conversations that a model has received, oldest first. */
  conversationsWith(model: string): ChatMessage[][];
  /** The last conversation that any model has received. */
  lastConversation(): ChatMessage[];
}

/** Passes every request on to `modelUrl`, and its answer back as it comes. */
export async function tapModel(modelUrl: string): Promise<ModelTap> {
  const requests: RequestBody[] = [];
  const server = http.createServer((request, response) => {
    void pass(request, response, modelUrl, (body) => requests.push(body)).catch(() =>
      response.destroy(),
    );
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address() as { port: number };
  return {
    url: `http://127.0.0.1:${address.port}`,
    conversationsWith: (model) => requests.filter((body) => body.model === model).map(messagesOf),
    lastConversation: () => messagesOf(requests.at(-1) ?? {}),
    async [Symbol.asyncDispose]() {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

/** A request, whose conversation each interface names differently. */
interface RequestBody {
  model?: string;
  messages?: ChatMessage[];
  input?: ChatMessage[];
  contents?: ChatMessage[];
}

function messagesOf({ messages, input, contents }: RequestBody): ChatMessage[] {
  return messages ?? input ?? contents ?? [];
}

async function pass(
  request: http.IncomingMessage,
  response: http.ServerResponse,
  modelUrl: string,
  keep: (body: object) => void,
): Promise<void> {
  const { method = 'GET', url = '/', headers } = request;
  const body = await buffer(request);
  if (body.length > 0) keep(JSON.parse(body.toString('utf8')) as object);
  const onward = http.request(new URL(url, modelUrl), { method, headers });
  // An agent that hangs up has lost interest: so has the model's server to hear.
  response.once('close', () => onward.destroy());
  onward.end(body);
  const [answer] = (await once(onward, 'response')) as [http.IncomingMessage];
  response.writeHead(answer.statusCode ?? 502, answer.headers);
  await pipeline(answer, response);
}
