import { once } from 'node:events';
import net, { type Server } from 'node:net';
import { conflictError } from '../../../../api/errors.ts';
import { Undo } from '../../../lib/undo.ts';
import type { SandboxNetwork } from './network.ts';
import { join } from './proxy.ts';

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
      const { code } = error as NodeJS.ErrnoException;
      throw conflictError(
        `cannot publish port ${port} (${code}): stop the program that uses the port, or choose another port`,
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
