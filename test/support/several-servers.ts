import fs from 'node:fs';
import path from 'node:path';
import type { Session } from '../../src/api/sessions.ts';
import { type Client, HttpClient } from '../../src/client/client.ts';
import { connect } from '../../src/frontends/cli/connect.ts';
import { systemClock } from '../../src/core/lib/clock.ts';
import { type Ended, runHere, type RunOptions } from './cli/cadre.ts';
import { withInProcessDemoAgent } from './demo-agent/in-process.ts';
import { demoConfig } from './demo-server.ts';
import { keptPort } from './kept-port.ts';
import { expectEventually } from './expect-eventually.ts';
import { openRuntime, type TestRuntime } from './runtime.ts';
import { openForTest, shared } from './shared.ts';
import { tempDirectory } from './temp.ts';
import { openSession } from './turns.ts';

/** Several servers with the demo agent, in this process, and a configuration that names them. */
export interface SeveralServers {
  /** The client of one of them. */
  client(name: string): HttpClient;
  /** Returns a client of all servers, like the client of a command. It is closed with the servers. */
  all(): Promise<Client>;
  url(name: string): string;
  tokenFile(name: string): string;
  directory(name: string): string;
  /** The home directory of the user whose configuration names them. */
  home: string;
  stop(name: string): Promise<void>;
  /** Starts a server again at its address and on its data. */
  start(name: string): Promise<void>;
  cadre(args: readonly string[], options?: RunOptions): Promise<Ended>;
}

/** Runs `test` with such servers; always stops them afterwards. */
async function withServers<T>(
  names: readonly string[],
  test: (given: SeveralServers) => Promise<T>,
): Promise<T> {
  await using own = tempDirectory('servers');
  return await withInProcessDemoAgent(own.path, (acp) => serve(names, test, own.path, acp));
}

async function serve<T>(
  names: readonly string[],
  test: (given: SeveralServers) => Promise<T>,
  place: string,
  acp: object,
): Promise<T> {
  const running = new Map<string, TestRuntime>();
  const clients = new Map<string, HttpClient>();
  const ofAll: Client[] = [];
  const places = new Map<string, { url: string; tokenFile: string }>();
  const directory = (name: string) => path.join(place, name);
  const start = async (name: string) => {
    const { url: before } = places.get(name) ?? {};
    const port = before === undefined ? await keptPort() : new URL(before).port;
    const given = await openRuntime(directory(name), { config: demoConfig(port, acp) });
    running.set(name, given);
    const { url, token, tokenFile } = given.runtime;
    places.set(name, { url, tokenFile: tokenFile ?? '' });
    clients.set(name, new HttpClient({ url, token }));
  };
  const stop = async (name: string) => {
    const given = running.get(name);
    running.delete(name);
    clients.get(name)?.close();
    await given?.stop();
  };
  for (const name of names) await start(name);
  const home = path.join(place, 'home');
  writeConfiguration(home, places);
  try {
    return await test({
      client: (name) => found(clients, name),
      async all() {
        const client = await connect({}, { HOME: home }, systemClock);
        ofAll.push(client);
        return client;
      },
      url: (name) => found(places, name).url,
      tokenFile: (name) => found(places, name).tokenFile,
      directory,
      home,
      stop,
      start,
      cadre: (args, options) => runHere(home, args, options),
    });
  } finally {
    for (const client of ofAll) client.close();
    for (const name of names) await stop(name);
  }
}

/** Starts such servers, which are stopped when the test has finished. */
export function testServers(names: readonly string[]): Promise<SeveralServers> {
  return openForTest((use) => withServers(names, use));
}

/** Such servers for all tests of a file or `describe`, for tests whose changes do not affect each other. */
export function sharedServers(names: readonly string[]): () => SeveralServers {
  return shared<SeveralServers>('servers', (use) => withServers(names, use));
}

/** Opens a session in a separate millisecond, because records of two servers within one millisecond have no order. */
export async function openOn(
  { client, directory }: SeveralServers,
  node: string,
  more: object,
): Promise<Session> {
  const session = await openSession(client(node), directory(node), more);
  await expectEventually(Date.now).toBeGreaterThan(session.created_at);
  return session;
}

function found<T>(all: ReadonlyMap<string, T>, name: string): T {
  const one = all.get(name);
  if (one === undefined) throw new Error(`no server ${name}`);
  return one;
}

function writeConfiguration(
  home: string,
  places: ReadonlyMap<string, { url: string; tokenFile: string }>,
): void {
  const directory = path.join(home, '.config', 'cadre');
  fs.mkdirSync(directory, { recursive: true });
  const entries = [...places].map(
    ([name, { url, tokenFile }]) =>
      `[[servers]]\nname = "${name}"\nurl = "${url}"\ntoken_file = "${tokenFile}"\n`,
  );
  fs.writeFileSync(path.join(directory, 'config.toml'), entries.join('\n'));
}
