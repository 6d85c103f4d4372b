import { puppetOn } from './puppet.ts';
import { once } from 'node:events';
import net from 'node:net';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { endpoints } from '../../../src/api/index.ts';
import type { ProviderDiagnostics } from '../../../src/api/providers.ts';
import type { RecoverySummary } from '../../../src/api/runtime.ts';
import type { Clock } from '../../../src/lib/clock.ts';
import type { Client } from '../../../src/client/client.ts';
import { openRuntime } from '../runtime.ts';
import { untilNothingCarries } from '../server.ts';
import { tempDirectory } from '../temp.ts';
import { until } from './calls.ts';
import { WatchedSession } from './contract-stage.ts';

type Fields = Record<string, unknown>;

/** The test's end of one process of an agent. */
export interface Played {
  readonly gone: boolean;
  /** Hears what its process was told, and what else became of it. */
  take(message: object): void;
}

/** A runtime in this process whose agent is played by the test. */
export interface PlayedStage<A extends Played> {
  readonly client: Client;
  readonly url: string;
  readonly token: string;
  readonly directory: string;
  /** Every process that was started, oldest first. */
  readonly agents: readonly A[];
  open(more?: object): Promise<WatchedSession>;
  diagnostics(): Promise<ProviderDiagnostics>;
  noAgents(): Promise<void>;
  recovered(): Promise<RecoverySummary>;
  /** Stops the runtime and starts another on the same data. */
  restart(): Promise<void>;
}

export interface PlayedGiven {
  /** More of `[providers]`. */
  providers?: Fields;
  /** `[gateway]`. */
  gateway?: Fields;
  /** More of the agent's environment. */
  env?: Record<string, string>;
  clock?: Clock;
}

/** Runs `test` with agents that `play` makes, and ends everything whatever happens. */
export async function withPlayed<A extends Played>(
  {
    provider,
    settings,
    play,
    ...given
  }: PlayedGiven & {
    provider: 'claude' | 'codex';
    /** Of the provider. */
    settings: Fields;
    play: (socket: net.Socket, pid: number) => A;
  },
  test: (stage: PlayedStage<A>) => Promise<void>,
): Promise<void> {
  await using own = tempDirectory('raw');
  const agents: A[] = [];
  const sessions: WatchedSession[] = [];
  const socket = path.join(own.path, 'socket');
  const theatre = net.createServer((connection) =>
    receive(connection, ({ pid }) => play(connection, pid), agents),
  );
  theatre.listen(socket);
  await once(theatre, 'listening');
  const program = puppetOn(socket);
  const env = { ...program.env, HOME: own.path, ...given.env };
  const configured = { ...program, ...settings, env };
  const config = {
    gateway: given.gateway ?? {},
    providers: { ...given.providers, [provider]: configured },
  };
  const start = () =>
    openRuntime(path.join(own.path, 'data'), {
      config,
      ...(given.clock && { clock: given.clock }),
    });
  let runtime = await start();
  const stop = async () => {
    await Promise.all(sessions.splice(0).map(({ watch }) => watch[Symbol.asyncDispose]()));
    runtime.client.close();
    await runtime.runtime.stop(AbortSignal.abort());
    await untilNothingCarries(own.path);
  };
  try {
    await test({
      get client() {
        return runtime.client;
      },
      get url() {
        return runtime.url;
      },
      get token() {
        return runtime.token;
      },
      directory: own.path,
      agents,
      async open(more = {}) {
        const body = { provider, cwd: own.path, ...more };
        const { id } = await runtime.client.call(endpoints.createSession, { body });
        const session = new WatchedSession(runtime.client, id, 8000);
        sessions.push(session);
        return session;
      },
      async diagnostics() {
        const all = await runtime.client.call(endpoints.getProviderDiagnostics, {});
        const found = all.find(({ id }) => id === provider);
        if (!found) throw new Error(`there is no ${provider}`);
        return found;
      },
      noAgents: () => until('no agent is left', () => agents.every(({ gone }) => gone)),
      async recovered() {
        const read = () => runtime.client.call(endpoints.getRecovery, {});
        await until('recovery is done', async () => (await read()).status === 'done');
        return read();
      },
      async restart() {
        await stop();
        runtime = await start();
      },
    });
  } finally {
    await stop();
    theatre.close();
  }
}

/** Takes what one process of a puppet says, as the agent that `play` makes of its first word. */
export function receive<A extends Played>(
  connection: net.Socket,
  play: (hello: { pid: number; cwd: string }) => A,
  agents: A[],
): void {
  let agent: A | undefined;
  connection.on('error', () => undefined);
  const lines = createInterface({ input: connection });
  // It has the errors of its input, too: one that is killed resets the connection.
  lines.on('error', () => undefined);
  lines.on('line', (line) => {
    const message = JSON.parse(line) as { pid: number; cwd: string };
    if (agent) agent.take(message);
    else agents.push((agent = play(message)));
  });
}
