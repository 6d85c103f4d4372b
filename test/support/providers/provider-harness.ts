import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll } from 'vitest';
import { endpoints } from '../../../src/api/index.ts';
import type { Approval } from '../../../src/api/approvals.ts';
import type { RecoverySummary } from '../../../src/api/runtime.ts';
import type { Session, Turn } from '../../../src/api/sessions.ts';
import { carriersOf } from '../../../src/core/children/procfs.ts';
import type { Client } from '../../../src/client/client.ts';
import { type TestServer, untilNothingCarries } from '../server.ts';
import { tempDirectory } from '../temp.ts';
import {
  asked,
  decide,
  type Decision,
  type Input,
  run,
  send,
  sessionOf,
  turnOf,
  until,
  type RequestedSettings,
} from './calls.ts';
import {
  type ProviderFixture,
  type ProviderSetup,
  type StartOptions,
  usualPatienceMs,
} from './fixture.ts';
import { Watch } from './watch.ts';

export interface ProviderHarnessOptions extends StartOptions {
  /** Permission mode of the session. */
  permissionMode?: string;
}

/** A session of the provider, watched from its first event. */
export class WatchedSession {
  readonly id: string;
  readonly client: Client;
  readonly watch: Watch;

  constructor(client: Client, id: string, patienceMs?: number) {
    this.client = client;
    this.id = id;
    this.watch = new Watch(client, id, patienceMs);
  }

  send(input: Input, more: RequestedSettings = {}): Promise<string> {
    return send(this.client, this, input, more);
  }

  run(input: Input, more: RequestedSettings = {}): Promise<Turn> {
    return run(this.client, this.watch, this, input, more);
  }

  /** Sends a turn; resolves with its id and its first approval. */
  async asks(
    input: Input,
    more: RequestedSettings = {},
  ): Promise<{ turnId: string; approval: Approval }> {
    const turnId = await this.send(input, more);
    return { turnId, approval: await asked(this.watch, turnId) };
  }

  /** Decides an approval; resolves with its turn once that has ended. */
  async decide(approval: Approval, ...how: Decision): Promise<Turn> {
    await decide(this.client, approval, ...how);
    await this.watch.end(approval.turn_id);
    return this.turn(approval.turn_id);
  }

  turn(turnId: string): Promise<Turn> {
    return turnOf(this.client, this, turnId);
  }

  record(): Promise<Session> {
    return sessionOf(this.client, this);
  }
}

/** A fork of a session, which is closed at the end of its scope. */
export class WatchedFork extends WatchedSession implements AsyncDisposable {
  static async of({ id, client }: WatchedSession, turn_id: string): Promise<WatchedFork> {
    const params = { session_id: id };
    const forked = await client.call(endpoints.forkSession, { params, body: { turn_id } });
    return new WatchedFork(client, forked.id);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const params = { session_id: this.id };
    await this.client.call(endpoints.closeSession, { params, body: {} });
    await this.watch.stop();
  }
}

/** A server in a process of its own with one session of the provider, and what a test does with them. */
export interface ProviderHarness {
  readonly setup: ProviderSetup;
  readonly server: TestServer;
  readonly client: Client;
  /** The working directory of the sessions, empty at first. */
  readonly cwd: string;
  /** The session. After a restart it is the same session with a new watch. */
  readonly session: WatchedSession;
  /** The process ids of the agents and their children. */
  agents(): number[];
  noAgents(): Promise<void>;
  /** Opens one more session. */
  another(more?: { permission_mode?: string; cwd?: string }): Promise<WatchedSession>;
  /** Ends the server and starts it again on its data, once all processes of the first one are gone. */
  restart(signal: NodeJS.Signals): Promise<Awaited<TestServer['exited']>>;
  /** Resolves with the recovery summary of the last start once recovery is done. */
  recovered(): Promise<RecoverySummary>;
  /** Writes a file outside of the working directories. */
  file(name: string, bytes: Buffer): string;
}

/** A harness on a server that other tests may share: it cannot end the server or count its agents. */
export type SharedProviderHarness = Pick<
  ProviderHarness,
  'setup' | 'client' | 'cwd' | 'session' | 'another' | 'file'
>;

type WithSharedHarness = (
  options: ProviderHarnessOptions,
  test: (harness: SharedProviderHarness) => Promise<void>,
) => Promise<void>;

/**
 * Returns a function that runs tests of one file on shared servers, one server for each set of options. Each test has
 * its own directory and session. A fixture without `severalAtOnce` gets one harness for each test.
 */
export function sharedProviderHarnesses(fixture: ProviderFixture): WithSharedHarness {
  if (!fixture.severalAtOnce) return (options, test) => withProviderHarness(fixture, options, test);
  const over = Promise.withResolvers<void>();
  const harnesses = new Map<string, { ready: Promise<ProviderHarness>; open: Promise<void> }>();
  afterAll(async () => {
    over.resolve();
    await Promise.all([...harnesses.values()].map(({ open }) => open));
  });
  const harnessWith = (options: StartOptions): Promise<ProviderHarness> => {
    const key = JSON.stringify(options);
    const shared = harnesses.get(key) ?? openedUntil(fixture, options, over.promise);
    harnesses.set(key, shared);
    return shared.ready;
  };
  return async ({ permissionMode, ...options }, test) => {
    const { setup, client, another } = await harnessWith(options);
    await using directory = tempDirectory('case');
    const cwd = join(directory.path, 'work');
    mkdirSync(cwd);
    await using sessions = new AsyncDisposableStack();
    const anotherHere = async (more: { permission_mode?: string } = {}) => {
      const session = await another({ cwd, ...more });
      sessions.use(session.watch);
      return session;
    };
    const session = await anotherHere(permissionMode ? { permission_mode: permissionMode } : {});
    const file = (name: string, bytes: Buffer) => fileIn(directory.path, name, bytes);
    await test({ setup, client, cwd, session, another: anotherHere, file });
  };
}

/** Opens a harness that stays open until a promise resolves. */
function openedUntil(fixture: ProviderFixture, options: StartOptions, over: Promise<void>) {
  const ready = Promise.withResolvers<ProviderHarness>();
  const open = withProviderHarness(fixture, options, async (harness) => {
    ready.resolve(harness);
    await over;
  });
  open.catch(ready.reject);
  return { ready: ready.promise, open };
}

function fileIn(directory: string, name: string, bytes: Buffer): string {
  const path = join(directory, name);
  writeFileSync(path, bytes);
  return path;
}

/** Runs `test` on its own harness; always ends the server with a SIGKILL afterwards. */
export async function withProviderHarness(
  fixture: ProviderFixture,
  { permissionMode, ...options }: ProviderHarnessOptions,
  test: (harness: ProviderHarness) => Promise<void>,
): Promise<void> {
  const { patienceMs = usualPatienceMs } = fixture;
  await using directory = tempDirectory('contract');
  const cwd = join(directory.path, 'work');
  mkdirSync(cwd);
  await using setup = await fixture.open(directory.path);
  let server = await setup.start(options);
  const watched: WatchedSession[] = [];
  const watch = (id: string) => {
    const session = new WatchedSession(server.client, id, patienceMs);
    watched.push(session);
    return session;
  };
  const another = async (more: { permission_mode?: string; cwd?: string } = {}) => {
    const body = { provider: fixture.provider, cwd, ...more };
    return watch((await server.client.call(endpoints.createSession, { body })).id);
  };
  const end = async (signal: NodeJS.Signals) => {
    const ended = await server.end(signal);
    await Promise.all(watched.splice(0).map((session) => session.watch[Symbol.asyncDispose]()));
    await untilNothingCarries(directory.path);
    return ended;
  };
  const agents = () => carriersOf(directory.path).filter((pid) => pid !== server.pid);
  try {
    let session = await another(permissionMode ? { permission_mode: permissionMode } : {});
    await test({
      setup,
      cwd,
      get server() {
        return server;
      },
      get client() {
        return server.client;
      },
      get session() {
        return session;
      },
      agents,
      noAgents: () => until('no agent is left', () => agents().length === 0, patienceMs),
      another,
      async restart(signal) {
        const ended = await end(signal);
        server = await setup.start(options);
        session = watch(session.id);
        return ended;
      },
      async recovered() {
        const read = () => server.client.call(endpoints.getRecovery, {});
        await until('recovery is done', async () => (await read()).status === 'done', patienceMs);
        return read();
      },
      file: (name, bytes) => fileIn(directory.path, name, bytes),
    });
  } finally {
    await end('SIGKILL');
  }
}
