import { once } from 'node:events';
import net from 'node:net';
import type { Address } from './http.ts';
import { type Pace, together } from './together.ts';

/** Requests that are all alike, sent by a number of clients, each of which waits for its answer before the next. */
export interface Requests {
  method: 'GET' | 'POST';
  path: string;
  body?: string;
  clients: number;
  count: number;
}

/**
 * Sends requests over plain sockets: the bytes of a request are made once, and of an answer only its status and length are
 * read. So the client takes a small part of the time on two cores, and the rest is the server's.
 */
export async function load(server: Address, requests: Requests): Promise<Pace> {
  const { hostname, port, host } = new URL(server.url);
  const bytes = bytesOf(requests, host, server.token);
  const connections = await Promise.all(
    Array.from({ length: requests.clients }, async () => {
      const socket = net.connect(Number(port), hostname).setNoDelay();
      await once(socket, 'connect');
      return new Connection(socket);
    }),
  );
  const { clients, count } = requests;
  const pace = await together(clients, count, async (client) => connections[client]?.ask(bytes));
  for (const connection of connections) connection.end();
  return pace;
}

function bytesOf({ method, path, body = '' }: Requests, host: string, token: string): Buffer {
  const lines = [`${method} ${path} HTTP/1.1`, `host: ${host}`, `authorization: Bearer ${token}`];
  if (body !== '')
    lines.push('content-type: application/json', `content-length: ${Buffer.byteLength(body)}`);
  return Buffer.from(`${lines.join('\r\n')}\r\n\r\n${body}`);
}

const HEAD_END = '\r\n\r\n';
const LAST_CHUNK = '0\r\n\r\n';

/** One connection with at most one request under way. */
class Connection {
  readonly #socket: net.Socket;
  #received = '';
  #answered: { resolve: () => void; reject: (error: Error) => void } | null = null;

  constructor(socket: net.Socket) {
    this.#socket = socket;
    socket.setEncoding('latin1').on('data', (part: string) => this.#take(part));
    socket.on('error', (error) => this.#answered?.reject(error));
    socket.on('close', () => this.#answered?.reject(new Error('the server closed a connection')));
  }

  ask(request: Buffer): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#answered = { resolve, reject };
      this.#socket.write(request);
    });
  }

  end(): void {
    this.#answered = null;
    this.#socket.destroy();
  }

  #take(part: string): void {
    this.#received = this.#received === '' ? part : this.#received + part;
    const headEnd = this.#received.indexOf(HEAD_END);
    if (headEnd < 0 || !this.#isWhole(headEnd)) return;
    const answer = this.#received;
    const answered = this.#answered;
    this.#received = '';
    this.#answered = null;
    if (answer.startsWith('HTTP/1.1 2')) answered?.resolve();
    else answered?.reject(new Error(`a request was refused: ${answer.slice(0, 400)}`));
  }

  #isWhole(headEnd: number): boolean {
    const head = this.#received.slice(0, headEnd);
    const length = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1];
    if (length === undefined) return this.#received.endsWith(LAST_CHUNK);
    return this.#received.length >= headEnd + HEAD_END.length + Number(length);
  }
}
