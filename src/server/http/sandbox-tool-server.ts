import type { Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { AppError } from '../../api/errors.ts';

/** A port of the server, and what takes connections to the same port in a sandbox. */
export interface ToolPort {
  port: number;
  accept: (socket: Socket) => void;
}

/**
 * Serves connections of sandboxes: a sandbox can use only the routes of the tools and of the health check. Each request
 * still needs a token.
 */
export class SandboxToolServer {
  readonly #server: Server;
  readonly #sockets = new WeakSet<Socket>();

  constructor(server: Server) {
    this.#server = server;
  }

  /** The port of the server, which has to listen. */
  get port(): ToolPort {
    const { port } = this.#server.address() as AddressInfo;
    const accept = (socket: Socket) => {
      this.#sockets.add(socket);
      this.#server.emit('connection', socket);
    };
    return { port, accept };
  }

  /** Throws `forbidden_scope` for a request of a sandbox to another route. */
  assertAllowed({ socket, url = '' }: { socket: Socket; url?: string | undefined }): void {
    if (!this.#sockets.has(socket) || url.startsWith('/v1/mcp/') || url === '/health') return;
    throw new AppError(
      'forbidden_scope',
      'a sandbox reaches only the tools of the server (/v1/mcp/): run this request outside of the sandbox',
    );
  }
}
