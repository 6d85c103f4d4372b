import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { NatsConnection } from '@nats-io/transport-node';
import { connectTo } from '../../../src/fleet/connection.ts';
import { initFleet } from '../../../src/fleet/init.ts';
import { scaled } from '../patience.ts';
import { tempDirectory } from '../temp.ts';
import { natsServer } from './nats-server.ts';

/** The options of a cluster. */
export interface ClusterOptions {
  /** Number of servers: 1 or 3. */
  servers?: number;
  /** More configuration of each server, such as accounts; `directory` is the directory of the server. */
  config?: (directory: string, index: number) => string;
  /** More settings in `jetstream { … }`. */
  jetstream?: string;
  /** The whole configuration of a server, instead of the default one; its port and name are replaced. */
  whole?: (at: number) => string;
  /** Scheme of the addresses: `tls` if `config` has certificates. */
  scheme?: 'nats' | 'tls';
}

/** One server of NATS. */
export interface NatsServer {
  name: string;
  port: number;
  directory: string;
  /** The process. Null before the first start. */
  process: ChildProcess | null;
}

/** JetStream servers on loopback, each with its own directory. */
export class Cluster implements AsyncDisposable {
  readonly servers: NatsServer[];
  readonly #scheme: string;
  readonly #directory = tempDirectory('nats');

  private constructor(ports: readonly number[], scheme: string) {
    this.#scheme = scheme;
    this.servers = ports.map((port, i) => {
      const directory = path.join(this.#directory.path, `n${i + 1}`);
      fs.mkdirSync(directory);
      return { name: `n${i + 1}`, port, directory, process: null };
    });
  }

  /** Starts a cluster; resolves once all servers accept connections. */
  static async start(options: ClusterOptions = {}): Promise<Cluster> {
    const { servers: count = 1, scheme = 'nats' } = options;
    const ports = await freePorts(count * 2);
    const cluster = new Cluster(ports.slice(0, count), scheme);
    const routes = ports.slice(count);
    for (const [at, server] of cluster.servers.entries())
      fs.writeFileSync(configOf(server), configuration(server, at, routes, options));
    for (const server of cluster.servers) cluster.boot(server);
    await Promise.all(cluster.servers.map(({ port }) => untilListens(port)));
    return cluster;
  }

  get urls(): string[] {
    return this.servers.map(({ port }) => `${this.#scheme}://127.0.0.1:${port}`);
  }

  /** Returns the path of a file of the test, beside the directories of the servers. */
  place(name: string): string {
    return path.join(this.#directory.path, name);
  }

  /** Starts a server, or starts it again after `kill`. */
  boot(server: NatsServer): void {
    const args = ['-c', configOf(server), '-l', path.join(server.directory, 'log')];
    server.process = spawn(natsServer, args, { stdio: 'ignore' });
  }

  /** Resolves once the server has ended. */
  async kill(server: NatsServer, signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    const { process } = server;
    if (process === null || process.exitCode !== null || process.signalCode !== null) return;
    const ended = once(process, 'exit');
    process.kill('SIGCONT');
    process.kill(signal);
    await ended;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.servers.map((server) => this.kill(server)));
    await this.#directory[Symbol.asyncDispose]();
  }
}

/** A cluster with a fleet, and a connection with all permissions. */
export interface TestFleet {
  cluster: Cluster;
  fleet: string;
  urls: string[];
  connection: NatsConnection;
}

/** Runs `test` with a new cluster after `cadre fleet init`; always ends it afterwards. */
export async function withFleet<T>(
  test: (given: TestFleet) => Promise<T>,
  options: ClusterOptions & { maxBytes?: number } = {},
): Promise<T> {
  await using cluster = await Cluster.start(options);
  const { urls, servers } = cluster;
  const connection = await connectTo({
    urls,
    fleet: 'test',
    name: 'admin',
    credentials: null,
    tls: { ca: null, cert: null, key: null },
  });
  try {
    const settings = { replicas: servers.length, maxBytes: 2 ** 28, streamId: 'test', ...options };
    await untilDone(() => initFleet(connection, 'test', settings));
    return await test({ cluster, fleet: 'test', urls, connection });
  } finally {
    await connection.close();
  }
}

/** Repeats a request until it succeeds, because a new cluster has no leader for a second or two. */
export async function untilDone<T>(work: () => Promise<T>, ms = 30_000): Promise<T> {
  for (const deadline = performance.now() + scaled(ms); ; await pause(50)) {
    try {
      return await work();
    } catch (error) {
      if (performance.now() > deadline) throw error;
    }
  }
}

function configOf({ directory }: NatsServer): string {
  return path.join(directory, 'server.conf');
}

function configuration(
  { name, port, directory }: NatsServer,
  at: number,
  routes: readonly number[],
  { config, whole, jetstream = '' }: ClusterOptions,
): string {
  if (whole)
    return whole(at).replace('0.0.0.0:4222', `127.0.0.1:${port}`).replace('$NATS_NAME', name);
  const cluster = `cluster { name: test, listen: "127.0.0.1:${routes[at]}", routes: [${routes
    .map((one) => `"nats://127.0.0.1:${one}"`)
    .join(', ')}] }`;
  return `server_name: ${name}
listen: "127.0.0.1:${port}"
jetstream { store_dir: "${directory}/js", max_file_store: 4GB, max_memory_store: 64MB, ${jetstream} }
${routes.length > 1 ? cluster : ''}
${config?.(directory, at) ?? 'max_payload: 8MB'}
`;
}

async function freePorts(count: number): Promise<number[]> {
  const servers = Array.from({ length: count }, () => net.createServer().listen(0, '127.0.0.1'));
  await Promise.all(servers.map((server) => once(server, 'listening')));
  const ports = servers.map((server) => (server.address() as net.AddressInfo).port);
  await Promise.all(servers.map((server) => new Promise((resolve) => void server.close(resolve))));
  return ports;
}

function untilListens(port: number): Promise<void> {
  return untilDone(async () => {
    const socket = net.connect(port, '127.0.0.1');
    try {
      await once(socket, 'connect');
    } finally {
      socket.destroy();
    }
  });
}
