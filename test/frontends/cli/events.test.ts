import { expect, test } from 'vitest';
import { withDemo, testDemo } from '../../support/demo-server.ts';
import type { RuntimeEventRecord } from '../../../src/api/events.ts';
import { endpoints } from '../../../src/api/index.ts';
import { settle } from '../../support/settle.ts';
import { keptPort } from '../../support/kept-port.ts';
import { startServer, untilNothingCarries } from '../../support/server.ts';
import { tempDirectory, testDirectory } from '../../support/temp.ts';
import { openSession, runTurn, send } from '../../support/turns.ts';
import { cadreOn, runCadre, startCadre } from '../../support/cli/cadre.ts';
import { expectEventually } from '../../support/expect-eventually.ts';

test('cadre events tail --no-follow prints the stored events and ends with 0.', async () => {
  const { given: server, client, directory } = await testDemo();
  const cadre = cadreOn(server);
  const [one, two] = [await openSession(client, directory), await openSession(client, directory)];
  await runTurn(client, one.id, 'say hello');
  const stored = await client.call(endpoints.replayEvents, { query: { limit: 10_000 } });
  const json = await cadre(['--json', 'events', 'tail', '--no-follow']);
  expect(json.code).toBe(0);
  expect(json.lines()).toEqual(stored);
  const after = await cadre(['--json', 'events', 'tail', '--no-follow', '--after-seq', '3']);
  expect(after.lines()).toEqual(stored.filter(({ seq }) => seq > 3));
  const own = await cadre([
    '--json',
    'events',
    'tail',
    '--no-follow',
    '--session',
    two.id.slice(-8),
  ]);
  expect(own.lines()).toEqual(stored.filter(({ session_id }) => session_id === two.id));
  const latest = await cadre(['events', 'tail', '--no-follow', '--after-seq', 'latest']);
  expect([latest.code, latest.stdout]).toEqual([0, '']);
});

test('cadre events tail prints one line per event: seq, time, session, kind and a summary.', async () => {
  const { given: server, client, directory } = await testDemo();
  const { id } = await openSession(client, directory);
  await runTurn(client, id, 'say hello\nsay \u001b[31mtwo');
  const { stdout, stderr } = await cadreOn(server)([
    'events',
    'tail',
    '--no-follow',
    '--session',
    id,
  ]);
  const lines = stdout.trimEnd().split('\n');
  for (const line of lines)
    expect(line).toMatch(
      new RegExp(`^ *\\d+ {2}\\d\\d:\\d\\d:\\d\\d\\.\\d{3} {2}${id.slice(-8)} {2}[a-z.]+`),
    );
  expect(lines[0]).toMatch(new RegExp(`session\\.created +${directory}`));
  expect(stdout).toMatch(/message\.completed +hello/);
  expect(stdout).not.toContain('\u001b');
  expect(stderr).toBe('');
});

test('cadre events tail shows each event at once until a signal ends it.', async () => {
  const { client, directory } = await testDemo();
  const tail = startCadre(directory, [
    '--data-dir',
    directory,
    '--json',
    'events',
    'tail',
    '--after-seq',
    'latest',
  ]);
  const followers = async () => (await client.call(endpoints.getDiagnostics, {})).streams.waiting;
  await expectEventually(followers).toBe(1);
  const { id } = await openSession(client, directory);
  await expectEventually(tail.stdout).toContain(id);
  tail.child.kill('SIGINT');
  const ended = await tail.ended;
  expect(ended.lines().map(({ kind }) => kind)).toEqual(['session.created']);
  expect([ended.code, ended.stderr]).toEqual([130, '']);
});

test('cadre events tail continues after a kill and a restart of the server, without loss or repeat, and reports both on stderr.', async () => {
  const directory = testDirectory();
  const port = await keptPort();
  const first = await startServer(directory, { args: ['--port', String(port)] });
  const tail = startCadre(directory, ['--data-dir', directory, '--json', 'events', 'tail']);
  const shows = (text: string) => expectEventually(tail.stdout).toContain(text);
  try {
    const { id } = await openSession(first.client, directory);
    await runTurn(first.client, id, 'say before the fall');
    await send(first.client, id, 'repeat 1000 1 tick');
    await shows('"text":"tick');
    await first.end('SIGKILL');
    const stored = await withDemo(
      async ({ client }) => {
        await runTurn(client, id, 'say after the fall');
        const all = await client.call(endpoints.replayEvents, { query: { limit: 10_000 } });
        await shows(`"seq":${all.at(-1)?.seq},`);
        // The tail ends before this server stops, so it sees no event of the stop.
        tail.child.kill('SIGINT');
        await tail.ended;
        return all;
      },
      { directory, port },
    );
    const ended = await tail.ended;
    expect(ended.code).toBe(130);
    expect(ended.stderr).toMatch(
      /^cadre: connection lost: reconnecting\ncadre: reconnected after event \d+\n$/,
    );
    const read = ended.lines() as unknown as RuntimeEventRecord[];
    const seqs = read.map(({ seq }) => seq);
    expect(seqs).toEqual([...new Set(seqs)].toSorted((a, b) => a - b));
    expect(settle(read)).toEqual(settle(stored));
    const kinds = new Set(read.map(({ kind }) => kind));
    for (const kind of ['runtime.recovered', 'turn.failed', 'turn.completed']) {
      expect(kinds).toContain(kind);
    }
  } finally {
    tail.child.kill('SIGKILL');
    await first.end('SIGKILL');
    await untilNothingCarries(directory);
  }
});

test('A tail that starts before its server waits for it, by its address and by its data directory.', async () => {
  const directory = testDirectory();
  const port = await keptPort();
  let CADRE_TOKEN = '';
  await withDemo(async ({ token }) => void (CADRE_TOKEN = token), { directory, port });
  const env = { CADRE_TOKEN };
  const tail = ['--json', 'events', 'tail', '--after-seq', '0'];
  const byUrl = startCadre(directory, ['--url', `http://127.0.0.1:${port}`, ...tail], { env });
  const byDirectory = startCadre(directory, ['--data-dir', directory, ...tail]);
  try {
    await expectEventually(byUrl.stderr).toMatch(/: waiting for the server\n$/);
    await expectEventually(byDirectory.stderr).toMatch(/: waiting for the server\n$/);
    await withDemo(
      async () => {
        for (const one of [byUrl, byDirectory]) {
          await expectEventually(one.stdout).toContain('runtime.started');
          expect(one.stderr()).toMatch(/: waiting for the server\ncadre: connected\n$/);
          one.child.kill('SIGINT');
          expect((await one.ended).code).toBe(130);
        }
      },
      { directory, port },
    );
  } finally {
    for (const one of [byUrl, byDirectory]) one.child.kill('SIGKILL');
  }
});

test('A tail ends at once with 6 with --no-reconnect, and if no server ever ran.', async () => {
  await using place = tempDirectory();
  const never = await runCadre(place.path, ['--data-dir', place.path, 'events', 'tail']);
  expect(never).toMatchObject({ code: 6, stderr: expect.stringMatching(/cadre serve/) });
  await withDemo(async () => undefined, { directory: place.path });
  for (const not of [['--no-reconnect'], ['--reconnect', '0'], ['--no-follow']]) {
    const ended = await runCadre(place.path, ['--data-dir', place.path, 'events', 'tail', ...not]);
    expect([not, ended.code, ended.stderr]).toEqual([
      not,
      6,
      expect.stringMatching(/^cadre: no server is running [^;]*\n$/),
    ]);
  }
});
