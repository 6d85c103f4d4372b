import type net from 'node:net';
import path from 'node:path';
import { endpoints } from '../../../src/api/index.ts';
import type { ProviderDiagnostics } from '../../../src/api/providers.ts';
import type { RecoverySummary } from '../../../src/api/runtime.ts';
import type { Clock } from '../../../src/core/lib/clock.ts';
import type { Client } from '../../../src/client/client.ts';
import { openRuntime, type TestRuntime } from '../runtime.ts';
import { untilNothingCarries } from '../server.ts';
import { shared } from '../shared.ts';
import { tempDirectory } from '../temp.ts';
import { until } from './calls.ts';
import { WatchedSession } from './contract-stage.ts';
import type { puppetOn } from './puppet.ts';
import { type Actor, type Hello, openTheatre } from './theatre.ts';

type Fields = Record<string, unknown>;

/** The test's end of one process of an agent. */
export interface Played extends Actor {
  readonly gone: boolean;
  /** Has it go, where it outlives its sessions. */
  retire?(): void;
}

/** A runtime in this process whose agents are played by the test. */
export interface PlayedStage<A extends Played> {
  readonly given: TestRuntime;
  readonly client: Client;
  /** Where sessions work. */
  readonly cwd: string;
  /** Every process that was started, oldest first. */
  readonly agents: readonly A[];
  /** Opens a session, which is watched from its beginning. */
  open(more?: object): Promise<WatchedSession>;
  diagnostics(): Promise<ProviderDiagnostics>;
  /** Waits until no agent's process is left. */
  noAgents(): Promise<void>;
  /** What the last start found, once it is done with it. */
  recovered(): Promise<RecoverySummary>;
  /** Closes all sessions, and forgets them and their agents. */
  clear(): Promise<void>;
  /** Stops the runtime and starts another on the same data. Sessions have to be watched again. */
  restart(): Promise<void>;
}

export interface PlayedGiven {
  /** More of `[providers]`. */
  providers?: Fields;
  /** `[gateway]`. */
  gateway?: Fields;
  clock?: Clock;
  /** The time that agents have to ask for the tools, after a turn; without it nobody is told. */
  toolsWithinMs?: number;
}

/** A provider's section whose agents have the home of the stage as theirs; `env` is more of their environment. */
export function inHome({ env, ...settings }: Fields & { env: Record<string, string> | undefined }) {
  return (program: ReturnType<typeof puppetOn>, home: string): Fields => ({
    ...program,
    ...settings,
    env: { ...program.env, HOME: home, ...env },
  });
}

/** Runs `test` with agents that `play` makes, and ends everything whatever happens. */
export async function withPlayed<A extends Played>(
  {
    provider,
    section,
    play,
    providers,
    gateway = {},
    clock,
    toolsWithinMs = Infinity,
  }: PlayedGiven & {
    provider: 'acp' | 'claude' | 'codex';
    /** The provider's section, by the program that its agents are to run, and a home for them. */
    section: (program: ReturnType<typeof puppetOn>, home: string) => Fields;
    play: (socket: net.Socket, hello: Hello) => A;
  },
  test: (stage: PlayedStage<A>) => Promise<void>,
): Promise<void> {
  await using own = tempDirectory('raw');
  using theatre = await openTheatre(own.path, play);
  const agents = theatre.actors;
  const sessions: WatchedSession[] = [];
  const config = {
    gateway,
    providers: { ...providers, [provider]: section(theatre.program, own.path) },
  };
  const start = () =>
    openRuntime(path.join(own.path, 'data'), { config, toolsWithinMs, ...(clock && { clock }) });
  let given = await start();
  const leave = () =>
    Promise.all(sessions.splice(0).map(({ watch }) => watch[Symbol.asyncDispose]()));
  const noAgents = () =>
    until('no agent is left', () => theatre.open === 0 && agents.every(({ gone }) => gone));
  const stop = async () => {
    await leave();
    given.client.close();
    await given.runtime.stop(AbortSignal.abort());
    await untilNothingCarries(own.path);
  };
  try {
    await test({
      get given() {
        return given;
      },
      get client() {
        return given.client;
      },
      cwd: own.path,
      agents,
      async open(more = {}) {
        const body = { provider, cwd: own.path, ...more };
        const { id } = await given.client.call(endpoints.createSession, { body });
        const session = new WatchedSession(given.client, id);
        sessions.push(session);
        return session;
      },
      async diagnostics() {
        const all = await given.client.call(endpoints.getProviderDiagnostics, {});
        const found = all.find(({ id }) => id === provider);
        if (!found) throw new Error(`there is no ${provider}`);
        return found;
      },
      noAgents,
      async recovered() {
        const read = () => given.client.call(endpoints.getRecovery, {});
        await until('recovery is done', async () => (await read()).status === 'done');
        return read();
      },
      async clear() {
        const ids = sessions.map(({ id }) => id);
        await leave();
        try {
          for (const session_id of ids)
            await given.client.call(endpoints.closeSession, { params: { session_id }, body: {} });
          for (const agent of agents) agent.retire?.();
          await noAgents();
        } finally {
          agents.length = 0;
        }
      },
      async restart() {
        await stop();
        given = await start();
      },
    });
  } finally {
    await stop();
  }
}

/**
 * One runtime for all tests of a file or `describe`, whose agents play another role in each. No test may restart it, or
 * count on what a provider remembers or has counted.
 */
export function sharedPlayed<Role extends object, A extends Played>(
  withRole: (role: Role, test: (stage: PlayedStage<A>) => Promise<void>) => Promise<void>,
) {
  const current: Partial<Role> = {};
  let tests = 0;
  const stage = shared<PlayedStage<A>>('runtime', (use) => withRole(current as Role, use));
  return async (role: Role, test: (stage: PlayedStage<A>) => Promise<void>): Promise<void> => {
    for (const part of Object.keys(current)) delete current[part as keyof Role];
    Object.assign(current, role);
    const mine = (tests += 1);
    // What a test and its end both say is told of both. One that ran out of time ends in the middle of a later one.
    await using _left = {
      [Symbol.asyncDispose]: async () => {
        if (mine === tests) await stage().clear();
      },
    };
    await test(stage());
  };
}
