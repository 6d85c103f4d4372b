import net from 'node:net';
import { setImmediate as nextLoop } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { endpoints } from '../../../../src/api/index.ts';
import { testRuntime } from '../../../support/runtime.ts';
import { scriptedProvider } from '../../../support/scripted-provider.ts';
import { openSession } from '../../../support/turns.ts';
import { expectEventually } from '../../../support/expect-eventually.ts';
import { heldDisk } from '../../../support/memory-store.ts';
import { apiOf } from '../../../support/http/request.ts';

/** Every request whose answer begins only once something was read, and that then may last. */
const lasting: [request: string, path: (ids: Ids) => string][] = [
  ['the stream of a session', ({ session }) => `GET /v1/sessions/${session}/events/stream`],
  ['the stream of a process', ({ process }) => `GET /v1/processes/${process}/events/stream`],
  ['the stream of a team', ({ team }) => `GET /v1/teams/${team}/events/stream`],
  ['what a process prints', ({ process }) => `GET /v1/processes/${process}/logs/stream`],
  ['the end of a process', ({ process }) => `GET /v1/processes/${process}/wait`],
  ['a text of a process', ({ process }) => `GET /v1/processes/${process}/wait?for=log:never`],
  ['a backup', () => 'POST /v1/storage/backup'],
];

interface Ids {
  session: string;
  process: string;
  team: string;
}

test.for(lasting)(
  'A client that leaves a request for %s leaves nothing behind, and the server stops in order.',
  async ([, pathOf]) => {
    const disk = heldDisk();
    const given = await testRuntime({ fs: disk.fs, providers: [scriptedProvider()] });
    const { url, token, client, directory, logLines } = given;
    const { id: session } = await openSession(client, directory);
    const { process } = await client.call(endpoints.createProcess, {
      body: { command: 'sleep 600', timeout_ms: 0 },
    });
    const { team } = await client.call(endpoints.createTeam, {
      body: { name: 'a team', lead_agent_id: session },
    });
    const ids = { session, process: process.process_id, team: team.id };
    const api = apiOf(given);
    const diagnostics = async () =>
      (await api('GET', '/v1/diagnostics')).json() as { streams: { followers: number } };
    // Whatever is read waits now for a change that is not on the disk yet.
    disk.hold();
    const changed = api('POST', '/v1/sessions', { body: { provider: 'acp' } });
    for (let i = 0; i < 5; i++) await api('GET', '/v1/version');
    const { hostname: host, port } = new URL(url);
    const leaving = net.connect({ host, port: Number(port) });
    const [method, path] = pathOf(ids).split(' ');
    leaving.write(
      `${method} ${path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${token}\r\nContent-Length: 0\r\n\r\n`,
    );
    for (let i = 0; i < 5; i++) await api('GET', '/v1/version');
    const route = (path ?? '').split('?')[0]?.split('/').at(-1) ?? '';
    leaving.destroy();
    // Its request is over for the server before what it waits for is there.
    await expectEventually(() =>
      logLines().some((line) => String(line.route).endsWith(route)),
    ).toBe(true);
    disk.release();
    await changed;
    for (let i = 0; i < 20; i++) await nextLoop();
    expect((await diagnostics()).streams).toMatchObject({ followers: 0 });
  },
);

test('A client that leaves behind a request in front of its stream, on the same connection, leaves nothing behind.', async () => {
  const given = await testRuntime();
  const { url, token } = given;
  const { hostname: host, port } = new URL(url);
  const leaving = net.connect({ host, port: Number(port) });
  const request = `GET /v1/events/stream HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${token}\r\n\r\n`;
  leaving.write(request.repeat(20));
  const api = apiOf(given);
  const followers = async () =>
    ((await api('GET', '/v1/diagnostics')).json() as { streams: { followers: number } }).streams
      .followers;
  await expectEventually(followers).toBe(20);
  leaving.destroy();
  await expectEventually(followers).toBe(0);
});
