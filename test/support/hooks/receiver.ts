import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import http from 'node:http';
import type { Socket } from 'node:net';
import { keptPort } from '../kept-port.ts';

/** A POST that a receiver has received. */
export interface Received {
  path: string;
  headers: http.IncomingHttpHeaders;
  body: string;
  event: { seq: number; id: string; kind: string; answer_url?: string; test?: boolean };
}

export type Answer = (got: Received, reply: Reply) => void;

/** The response to a request, written to the socket, because Node's responses are recorded as responses of cadre. */
export interface Reply {
  socket: Socket;
  /** Returns a complete response. */
  send(status: number, body?: string, headers?: readonly string[]): void;
}

/** An HTTP server of a test, which can stop and start again on its port. */
export class Receiver implements AsyncDisposable {
  readonly got: Received[] = [];
  answer: Answer = (_got, reply) => reply.send(204);
  #server: http.Server | undefined;
  #port = 0;
  #news = Promise.withResolvers<void>();

  get url(): string {
    return `http://127.0.0.1:${this.#port}/hook`;
  }

  async open(): Promise<this> {
    this.#port ||= await keptPort();
    this.#server = http.createServer((request) => void this.#take(request));
    this.#server.listen(this.#port, '127.0.0.1');
    await once(this.#server, 'listening');
    return this;
  }

  async close(): Promise<void> {
    const server = this.#server;
    this.#server = undefined;
    if (!server) return;
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  }

  /** Resolves once so many requests have arrived. */
  async until(count: number): Promise<void> {
    while (this.got.length < count) await this.#news.promise;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #take(request: http.IncomingMessage): Promise<void> {
    try {
      let body = '';
      for await (const part of request.setEncoding('utf8')) body += part;
      const event = JSON.parse(body) as Received['event'];
      const got = { path: request.url ?? '', headers: request.headers, body, event };
      this.got.push(got);
      this.answer(got, replyOn(request.socket));
      this.#news.resolve();
      this.#news = Promise.withResolvers();
    } catch {
      // The sender was killed.
      request.socket.destroy();
    }
  }
}

function replyOn(socket: Socket): Reply {
  return {
    socket,
    send(status, body = '', headers = []) {
      const lines = [`HTTP/1.1 ${status} Whatever`, ...headers, 'Connection: close'];
      const length = status === 204 ? [] : [`Content-Length: ${Buffer.byteLength(body)}`];
      socket.end(`${[...lines, ...length].join('\r\n')}\r\n\r\n${body}`);
    },
  };
}

/** Returns the expected signature of a POST. */
export function signatureOf({ headers, body }: Received, secret: string): string {
  const signed = `${String(headers['webhook-id'])}.${String(headers['webhook-timestamp'])}.${body}`;
  return `v1,${createHmac('sha256', secret).update(signed).digest('base64')}`;
}
