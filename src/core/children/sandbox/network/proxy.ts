import type { LookupAddress } from 'node:dns';
import { once } from 'node:events';
import http, {
  type IncomingHttpHeaders,
  type IncomingMessage,
  type ServerResponse,
} from 'node:http';
import net, { BlockList, type Server, type Socket } from 'node:net';
import os from 'node:os';
import { type Duplex, pipeline } from 'node:stream';
import { conflictError } from '../../../../api/errors.ts';
import type { Clock } from '../../../lib/clock.ts';
import { forbidden, isListed, loopback, privateNetworks } from '../../../lib/addresses.ts';
import { resolveHost, lookupFrom } from '../../../lib/resolve-host.ts';
import { normalHost, type Reach } from '../../../lib/host-lists.ts';
import { Undo } from '../../../lib/undo.ts';
import type { SandboxNetwork } from './network.ts';
import { codeOf } from '../../../lib/system-error.ts';

/** The time that a connection to a host may take, in milliseconds. */
const CONNECT_MS = 30_000;
/** The headers of a request that concern one connection only. */
const OWN_HEADERS: ReadonlySet<string> = new Set([
  'connection',
  'keep-alive',
  'proxy-authorization',
  'proxy-connection',
  'te',
]);

/** A host that a program did not reach. `private_address`: its address is of this machine or of a private network. */
export interface RefusedHost {
  host: string;
  port: number;
  reason: 'not_allowed' | 'private_address';
  message: string;
}

interface ProxyOptions {
  /** Resolves with the addresses that a host may have; null: the host is refused. `gone` aborts when the program closes the connection. */
  reachOf: (host: string, port: number, gone: AbortSignal) => Promise<Reach | null>;
  onRefused: (refused: RefusedHost) => void;
  /** The port of the server itself, which no sandbox reaches. */
  ownPort: () => number;
  clock: Clock;
}

/** A request that the proxy refuses, with the status of the response. */
class RefusedError extends Error {
  readonly status: number;

  constructor(message: string, status = 403) {
    super(message);
    this.status = status;
  }
}

/**
 * An HTTP proxy for the connections of a sandbox. It tunnels (CONNECT) and forwards `http:` requests to allowed hosts. The
 * proxy resolves names itself and connects to these very addresses: a second answer of the name server could differ.
 */
export class SandboxProxy {
  readonly #options: ProxyOptions;
  readonly #gone = new WeakMap<Duplex, AbortSignal>();
  readonly #server = http.createServer((request, response) => {
    void this.#forward(request, response);
  });

  constructor(options: ProxyOptions) {
    this.#options = options;
    this.#server.on('connect', (request, socket, head) => void this.#tunnel(request, socket, head));
  }

  /** Serves a connection. */
  accept(socket: Socket): void {
    this.#server.emit('connection', socket);
  }

  async #tunnel({ url = '' }: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    socket.on('error', () => undefined);
    try {
      const [, host, port] = /^(\[[^\]]+\]|[^:]+):(\d+)$/.exec(url) ?? [];
      if (host === undefined) throw new RefusedError('the target has to be HOST:PORT', 400);
      const target = await this.#connect(host, Number(port), socket);
      if (socket.destroyed) return void target.destroy();
      socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
      if (head.length > 0) target.write(head);
      join(socket, target);
    } catch (error) {
      const { status, text } = answerTo(error);
      const headers = `content-type: text/plain\r\ncontent-length: ${Buffer.byteLength(text)}\r\nconnection: close`;
      socket.end(`HTTP/1.1 ${status} ${http.STATUS_CODES[status]}\r\n${headers}\r\n\r\n${text}`);
    }
  }

  async #forward(request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      const url = URL.parse(request.url ?? '');
      if (url?.protocol !== 'http:')
        throw new RefusedError('this proxy serves CONNECT, and requests of http: URLs', 400);
      const socket = await this.#connect(url.hostname, Number(url.port || 80), request.socket);
      if (response.destroyed) return void socket.destroy();
      const target = http.request({
        createConnection: () => socket,
        method: request.method,
        path: `${url.pathname}${url.search}`,
        headers: { ...forwarded(request.headers), host: url.host, connection: 'close' },
      });
      // Its socket may fail after the response has begun.
      target.on('error', () => undefined);
      // A program that leaves early would leave this connection to a host that never answers.
      response.once('close', () => target.destroy());
      pipeline(request, target, () => undefined);
      const answer = await responseOf(target);
      response.writeHead(answer.statusCode ?? 502, forwarded(answer.headers));
      pipeline(answer, response, () => undefined);
    } catch (error) {
      const { status, text } = answerTo(error);
      if (response.headersSent) response.destroy();
      else response.writeHead(status, { 'content-type': 'text/plain' }).end(text);
    }
  }

  async #connect(name: string, port: number, source: Duplex): Promise<Socket> {
    const host = normalHost(name);
    const reach = await this.#options.reachOf(host, port, this.#goneOf(source));
    if (reach === null) {
      const message = `the sandbox does not reach ${host}:${port}: add the host to sandbox.hosts`;
      throw this.#refusal({ host, port, reason: 'not_allowed', message });
    }
    const addresses = await this.#addressesOf(host, port, reach);
    const found = lookupFrom(async () => addresses);
    const socket = net.connect({ host, port, lookup: found, allowHalfOpen: true });
    socket.on('error', () => undefined);
    using _limit = this.#options.clock.after(CONNECT_MS, () =>
      socket.destroy(new Error(`no connection to ${host}:${port}`)),
    );
    try {
      await once(socket, 'connect');
      return socket;
    } catch (error) {
      socket.destroy();
      throw error;
    }
  }

  /** Returns the signal that the end of a connection of a program aborts; a connection may have many requests. */
  #goneOf(source: Duplex): AbortSignal {
    const known = this.#gone.get(source);
    if (known) return known;
    const gone = new AbortController();
    source.once('close', () => gone.abort());
    this.#gone.set(source, gone.signal);
    return gone.signal;
  }

  async #addressesOf(host: string, port: number, reach: Reach): Promise<LookupAddress[]> {
    const family = net.isIP(host);
    const all = family === 0 ? await resolveHost('sandboxes', host) : [{ address: host, family }];
    const own = ownAddresses();
    const allowed = all.filter(({ address }) => this.#isAllowed(address, own, port, reach));
    if (allowed.length > 0) return allowed;
    const message = `the sandbox does not reach ${host}:${port}, because ${all[0]?.address ?? host} is an address of this machine or of a private network: add "${host}:${port}" to sandbox.hosts to allow it`;
    throw this.#refusal({ host, port, reason: 'private_address', message });
  }

  #refusal(refused: RefusedHost): RefusedError {
    this.#options.onRefused(refused);
    return new RefusedError(refused.message);
  }

  #isAllowed(address: string, own: BlockList, port: number, reach: Reach): boolean {
    if (isListed(forbidden, address)) return false;
    const isHere = isListed(loopback, address) || isListed(own, address);
    if (reach === 'any') return !isHere || port !== this.#options.ownPort();
    return !isHere && !isListed(privateNetworks, address);
  }
}

/** Resolves with the response to a request. Rejects if the connection ends before, as after an upgrade (status 101). */
function responseOf(request: http.ClientRequest): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  request.once('response', resolve).once('error', reject);
  request.once('close', () =>
    reject(new Error('the host closed the connection without a response')),
  );
  return promise;
}

interface Published {
  server: Server;
  listening: Promise<unknown>;
  /** The number of processes that publish the port. */
  users: number;
}

/** Ports of the loopback interface of this machine that lead to the same ports in a network. */
export class PublishedPorts implements AsyncDisposable {
  readonly #network: SandboxNetwork;
  readonly #published = new Map<number, Published>();

  constructor(network: SandboxNetwork) {
    this.#network = network;
  }

  /** Publishes ports until the result is disposed. Throws `conflict` for a port that this machine uses. */
  async publish(ports: readonly number[]): Promise<AsyncDisposable> {
    await using undo = new Undo();
    for (const port of new Set(ports)) {
      undo.defer(() => this.#remove(port));
      await this.#add(port);
    }
    return undo.move();
  }

  async #add(port: number): Promise<void> {
    const published = this.#published.get(port) ?? this.#open(port);
    published.users++;
    try {
      await published.listening;
    } catch (error) {
      throw conflictError(
        `cannot publish port ${port} (${codeOf(error)}): stop the program that uses the port, or choose another port`,
      );
    }
  }

  #open(port: number): Published {
    const server = net.createServer({ allowHalfOpen: true }, (socket) => {
      socket.on('error', () => undefined);
      void this.#network.connect(port).then((inside) => {
        if (inside) join(socket, inside);
        else socket.resetAndDestroy();
      });
    });
    const listening = once(server.listen(port, '127.0.0.1'), 'listening');
    const published = { server, listening, users: 0 };
    this.#published.set(port, published);
    return published;
  }

  async #remove(port: number): Promise<void> {
    const published = this.#published.get(port);
    if (!published || --published.users > 0) return;
    this.#published.delete(port);
    published.server.close();
    if (this.#published.size === 0) await this.#network.endConnector();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const { server } of this.#published.values()) server.close();
    this.#published.clear();
  }
}

/** Connects two streams in both directions. */
function join(one: Duplex, other: Duplex): void {
  pipeline(one, other, () => undefined);
  pipeline(other, one, () => undefined);
}

/** Connects a socket of a sandbox to a port of the machine. */
export function forward(socket: Socket, port: number): void {
  join(socket, net.connect({ host: 'localhost', port, allowHalfOpen: true }));
}

/** A list compares addresses, not their texts: an IPv6 address has many, and a mapped IPv4 address is the IPv4 address. */
function ownAddresses(): BlockList {
  const own = new BlockList();
  for (const one of Object.values(os.networkInterfaces()).flat())
    if (one) own.addAddress(one.address, one.family === 'IPv6' ? 'ipv6' : 'ipv4');
  return own;
}

function forwarded(headers: IncomingHttpHeaders): IncomingHttpHeaders {
  const isForwarded = ([name]: [string, unknown]) => !OWN_HEADERS.has(name);
  return Object.fromEntries(Object.entries(headers).filter(isForwarded));
}

function answerTo(error: unknown): { status: number; text: string } {
  const status = error instanceof RefusedError ? error.status : 502;
  return { status, text: `cadre: ${(error as Error).message}\n` };
}
