import { existsSync } from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { endpoints } from '../../src/api/index.ts';
import { testServer, type TestServer } from '../support/server.ts';
import { testDirectory } from '../support/temp.ts';
import { openSession, send } from '../support/turns.ts';
import { expectEventually } from '../support/expect-eventually.ts';
import { type Random, seeded } from './crash/random.ts';
import { scaled } from '../support/patience.ts';

const leavers = Number(process.env.LEAVERS || 100);
const seed = Number(process.env.SEED || Date.now() % 1_000_000_000);
/** So many clients are there at once. */
const AT_ONCE = 40;
/** The longest that one stays, in milliseconds. */
const MAX_STAY_MS = 30;

test(
  'Clients that leave streams, waits and backups at random moments leave nothing behind, and the server stops in order.',
  { timeout: scaled(120_000 + leavers * 100) },
  async () => {
    process.stdout.write(`leavers: ${leavers} clients, SEED=${seed}\n`);
    const random = seeded(seed);
    const directory = testDirectory('leavers');
    const server = await testServer({ directory });
    const paths = await pathsOn(server);
    let left = leavers;
    const crowd = Array.from({ length: AT_ONCE }, () => random.fork());
    const talking = keepTalking(server, paths.session, () => left > 0);
    await Promise.all(
      crowd.map(async (own) => {
        while (left-- > 0) await leave(server, own.pick(paths.lasting), own);
      }),
    );
    await talking;
    const { client } = server;
    const followers = async () =>
      (await client.call(endpoints.getDiagnostics, {})).streams.followers;
    await expectEventually(followers, 30_000).toBe(0);
    expect(await server.end('SIGTERM')).toEqual({ code: 0, signal: null });
    expect(server.log()).toContain('stopped');
    expect(existsSync(path.join(directory, 'server.json'))).toBe(false);

    const next = await testServer({ directory });
    const recovery = await next.client.call(endpoints.getRecovery, {});
    expect(recovery.previous_stop).toBe('clean');
    expect(await next.end('SIGTERM')).toEqual({ code: 0, signal: null });
  },
);

/** Requests that last, of a session whose turn writes, a process that prints and a team. */
async function pathsOn({
  client,
  directory,
}: TestServer): Promise<{ session: string; lasting: string[] }> {
  const { id: session } = await openSession(client, directory);
  const { process } = await client.call(endpoints.createProcess, {
    body: { command: 'while :; do echo tick; sleep 0.05; done', timeout_ms: 0 },
  });
  const { team } = await client.call(endpoints.createTeam, {
    body: { name: 'a team', lead_agent_id: session },
  });
  const streams = [
    `/v1/sessions/${session}/events/stream`,
    `/v1/processes/${process.process_id}/events/stream`,
    `/v1/processes/${process.process_id}/logs/stream`,
    `/v1/teams/${team.id}/events/stream`,
    '/v1/events/stream',
  ].map((at) => `GET ${at}`);
  const wait = `GET /v1/processes/${process.process_id}/wait`;
  const lasting = [
    ...streams,
    ...streams,
    wait,
    `${wait}?for=log:never`,
    'POST /v1/storage/backup',
  ];
  return { session, lasting };
}

/** Has an agent write for as long as there is somebody to leave. */
async function keepTalking(
  { client }: TestServer,
  session: string,
  goesOn: () => boolean,
): Promise<void> {
  const status = async () =>
    (await client.call(endpoints.getSession, { params: { session_id: session } })).status;
  do {
    await send(client, session, 'repeat 100 10 words');
    await expectEventually(status, 60_000).toBe('ready');
  } while (goesOn());
}

/** Asks for something that lasts, and leaves after a moment that may be before any answer. */
async function leave({ url, token }: TestServer, request: string, random: Random): Promise<void> {
  const { hostname: host, port } = new URL(url);
  const socket = net.connect({ host, port: Number(port) });
  socket.on('error', () => undefined);
  socket.resume();
  socket.write(
    `${request} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${token}\r\nContent-Length: 0\r\n\r\n`,
  );
  // The moment is the point: nothing waits for it.
  await pause(random.between(0, MAX_STAY_MS));
  if (random.chance(0.5)) socket.destroy();
  else socket.resetAndDestroy();
}
