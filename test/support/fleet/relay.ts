import { once } from 'node:events';
import net from 'node:net';

/** A TCP relay that can drop everything, as a broken network does: neither side gets an error. */
export class Relay implements AsyncDisposable {
  readonly #server: net.Server;
  readonly #pairs = new Set<Pair>();
  #isFrozen = false;

  private constructor(to: number) {
    this.#server = net.createServer((near) => this.#join(near, net.connect(to, '127.0.0.1')));
  }

  /** A relay to a port of this machine. */
  static async to(port: number): Promise<Relay> {
    const relay = new Relay(port);
    relay.#server.listen(0, '127.0.0.1');
    await once(relay.#server, 'listening');
    return relay;
  }

  get port(): number {
    return (this.#server.address() as net.AddressInfo).port;
  }

  get url(): string {
    return `nats://127.0.0.1:${this.port}`;
  }

  /** Drops all data in both directions from now on. */
  freeze(): void {
    this.#isFrozen = true;
  }

  /** Ends all connections that have lost data, as TCP does eventually. */
  thaw(): void {
    this.#isFrozen = false;
    for (const pair of this.#pairs) if (pair.hasLost) close(pair);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const pair of this.#pairs) close(pair);
    const closed = once(this.#server, 'close');
    this.#server.close();
    await closed;
  }

  #join(near: net.Socket, far: net.Socket): void {
    const pair: Pair = { near, far, hasLost: false };
    this.#pairs.add(pair);
    const pass = (to: net.Socket) => (data: Buffer) => {
      // A stream with a gap is of no use: what comes after it is lost as well.
      if (this.#isFrozen) pair.hasLost = true;
      if (!pair.hasLost) to.write(data);
    };
    near.on('data', pass(far));
    far.on('data', pass(near));
    for (const socket of [near, far])
      socket
        .on('error', () => undefined)
        .on('close', () => {
          if (this.#isFrozen) return;
          close(pair);
          this.#pairs.delete(pair);
        });
  }
}

interface Pair {
  near: net.Socket;
  far: net.Socket;
  hasLost: boolean;
}

function close({ near, far }: Pair): void {
  near.destroy();
  far.destroy();
}
