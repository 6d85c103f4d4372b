import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { type FileHandle, open } from 'node:fs/promises';
import type { Server, Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import type { Clock } from '../../../lib/clock.ts';
import { findProgram } from '../../../lib/find-program.ts';
import { type Identity, isAlive } from '../../identity.ts';
import { ProbeTimeout } from '../reasons.ts';
import { CONNECT_INSIDE, LISTEN_INSIDE, selfCommand } from '../../../lib/self.ts';

/** The time that the creation of a network may take, in milliseconds. */
const LIMIT_MS = 10_000;
/** The maximum number of open connections of one network. */
const MAX_CONNECTIONS = 512;

/** A port of the loopback interface inside, and what serves its connections outside. */
export interface InsidePort {
  port: number;
  accept: (socket: Socket) => void;
}

/** Returns the programs that create a network and enter it. */
function programsIn(searchPath: string) {
  const find = (name: string) => {
    const program = findProgram(name, searchPath);
    if (program === null) throw new Error(`the program ${name} is not on the PATH of the server`);
    return program;
  };
  return { bubblewrap: find('bwrap'), nsenter: find('nsenter') };
}

/** A socket that listens inside, and what serves its connections. */
interface Listening {
  server: Server;
  accept: InsidePort['accept'];
}

/** A network namespace without a way out, and the ports in it that the server listens on. No process has to stay in it. */
export class SandboxNetwork implements AsyncDisposable {
  readonly #namespaces: readonly FileHandle[];
  readonly #servers: Server[] = [];
  readonly #sockets = new Set<Socket>();
  #connector: Connector | undefined;
  /** The words before a command that make it run in the namespace. */
  readonly words: readonly string[];

  private constructor(nsenter: string, user: FileHandle, net: FileHandle) {
    const own = `/proc/${process.pid}/fd`;
    const namespaces = [`--user=${own}/${user.fd}`, `--net=${own}/${net.fd}`];
    this.words = [nsenter, ...namespaces, '--preserve-credentials', '--'];
    this.#namespaces = [user, net];
  }

  /** Creates a network with these ports. Rejects with what the programs printed if the machine does not allow it. */
  static async open(
    searchPath: string,
    ports: readonly InsidePort[],
    clock: Clock,
  ): Promise<SandboxNetwork> {
    const { bubblewrap, nsenter } = programsIn(searchPath);
    // Without --dev, for which bubblewrap would create a second user namespace, without rights in the network of the first.
    const namespaces = ['--unshare-user', '--unshare-net', '--die-with-parent'];
    const words = [bubblewrap, ...namespaces, '--dev-bind', '/', '/', '--'];
    return listenIn(words, ports, clock, async ({ pid, listening }) => {
      const network = await SandboxNetwork.#of(pid, nsenter);
      network.#serve(listening);
      return network;
    });
  }

  /** Enters the network of a process that an earlier server has started, and listens there. Rejects if the process is gone. */
  static async enter(
    leader: Identity,
    searchPath: string,
    ports: readonly InsidePort[],
    clock: Clock,
  ): Promise<SandboxNetwork> {
    const { nsenter } = programsIn(searchPath);
    const network = await SandboxNetwork.#of(leader.pid, nsenter);
    try {
      // A later process with this id would have other namespaces.
      if (!isAlive(leader)) throw new Error(`the process ${leader.pid} is gone`);
      await network.listen(ports, clock);
      return network;
    } catch (error) {
      await network[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** The network of a running process. */
  static async #of(pid: number, nsenter: string): Promise<SandboxNetwork> {
    const user = await open(`/proc/${pid}/ns/user`);
    try {
      return new SandboxNetwork(nsenter, user, await open(`/proc/${pid}/ns/net`));
    } catch (error) {
      await user.close();
      throw error;
    }
  }

  /** Listens on more ports. */
  async listen(ports: readonly InsidePort[], clock: Clock): Promise<void> {
    await listenIn(this.words, ports, clock, ({ listening }) => this.#serve(listening));
  }

  #serve(listening: readonly Listening[]): void {
    for (const { server, accept } of listening) {
      this.#servers.push(server);
      server.on('connection', (socket) => this.#admit(socket, accept));
    }
  }

  #admit(socket: Socket, accept: InsidePort['accept']): void {
    if (this.#sockets.size >= MAX_CONNECTIONS) return void socket.destroy();
    this.#sockets.add(socket);
    socket.on('error', () => undefined);
    socket.once('close', () => this.#sockets.delete(socket));
    accept(socket);
  }

  /** Connects to a port inside. Resolves with null if no program listens on the port. */
  async connect(port: number): Promise<Socket | null> {
    if (!this.#connector || this.#connector.isOver) this.#connector = new Connector(this.words);
    const socket = await this.#connector.connect(port);
    if (socket) this.#admit(socket, () => undefined);
    return socket;
  }

  /** Ends the process that connects to ports inside, until the next connection. */
  async endConnector(): Promise<void> {
    const connector = this.#connector;
    this.#connector = undefined;
    await connector?.[Symbol.asyncDispose]();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.endConnector();
    for (const server of this.#servers) server.close();
    for (const socket of this.#sockets) socket.destroy();
    for (const namespace of this.#namespaces) await namespace.close();
  }
}

/** A process of cadre in a namespace, which connects to ports there and passes the sockets to this process. */
class Connector implements AsyncDisposable {
  readonly #helper: ChildProcess;
  readonly #waiting = new Map<number, (socket: Socket | null) => void>();
  readonly #over = Promise.withResolvers<void>();
  #last = 0;
  isOver = false;

  constructor(words: readonly string[]) {
    this.#helper = startHelper(words, CONNECT_INSIDE, []);
    this.#helper.on('message', ({ id }: { id: number }, socket) => {
      this.#waiting.get(id)?.((socket as Socket | undefined) ?? null);
      this.#waiting.delete(id);
    });
    const end = () => {
      this.isOver = true;
      for (const resolve of this.#waiting.values()) resolve(null);
      this.#over.resolve();
    };
    this.#helper.once('error', end);
    this.#helper.once('exit', end);
  }

  connect(port: number): Promise<Socket | null> {
    // A helper that could not be started has no channel.
    if (!this.#helper.connected) return Promise.resolve(null);
    const { promise, resolve } = Promise.withResolvers<Socket | null>();
    const id = ++this.#last;
    this.#waiting.set(id, resolve);
    this.#helper.send({ id, port }, (error) => {
      if (error) resolve(null);
    });
    return promise;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#helper.kill('SIGKILL');
    await this.#over.promise;
  }
}

/** Starts a process of cadre behind `words`, with a channel to this process. */
function startHelper(
  words: readonly string[],
  argument: string,
  numbers: readonly string[],
): ChildProcess {
  const { file, args } = selfCommand();
  const [program = '', ...rest] = [...words, file, ...args, argument, ...numbers];
  return spawn(program, rest, { stdio: ['ignore', 'ignore', 'pipe', 'ipc'], env: {} });
}

/**
 * Starts a process of cadre behind `words`, which listens on the ports and passes the sockets to this process. `use` is called
 * while the process lives, and then it ends.
 */
async function listenIn<T>(
  words: readonly string[],
  ports: readonly InsidePort[],
  clock: Clock,
  use: (found: { pid: number; listening: readonly Listening[] }) => T | Promise<T>,
): Promise<T> {
  const numbers = ports.map(({ port }) => String(port));
  const helper = startHelper(words, LISTEN_INSIDE, numbers);
  const over = once(helper, 'exit');
  over.catch(() => undefined);
  const listening: Listening[] = [];
  try {
    const pid = await receive(helper, ports, listening, clock);
    const used = await use({ pid, listening });
    helper.disconnect();
    await over;
    return used;
  } catch (error) {
    for (const { server } of listening) server.close();
    throw error;
  } finally {
    helper.kill('SIGKILL');
  }
}

/** Adds the sockets that a process passes to `listening`. Resolves with the pid of the process once all are there. */
async function receive(
  helper: ChildProcess,
  ports: readonly InsidePort[],
  listening: Listening[],
  clock: Clock,
): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const printed = helper.stderr ? text(helper.stderr) : Promise.resolve('');
  helper.once('error', reject);
  helper.once('exit', () => {
    void printed.then((output) => reject(new Error(output.trim() || 'the process in it ended')));
  });
  helper.on('message', (message: { port: number; pid: number }, server) => {
    const accept = ports.find(({ port }) => port === message.port)?.accept;
    if (!server || !accept) return;
    listening.push({ server: server as Server, accept });
    if (listening.length === ports.length) resolve(message.pid);
  });
  using _limit = clock.after(LIMIT_MS, () => reject(new ProbeTimeout(LIMIT_MS)));
  return await promise;
}
