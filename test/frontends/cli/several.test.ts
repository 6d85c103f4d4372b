import fs from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { endpoints } from '../../../src/api/index.ts';
import { expectEventually } from '../../support/expect-eventually.ts';
import { completeHere, runCadre, shell, startCadre } from '../../support/cli/cadre.ts';
import { scaled } from '../../support/patience.ts';
import { openOn, sharedServers, testServers } from '../../support/several-servers.ts';
import { openSession, runTurn, send } from '../../support/turns.ts';

const given = sharedServers(['laptop', 'gpu']);
const cadre = (...args: string[]) => given().cadre(args);
const open = (node: string, title: string, more: object = {}) =>
  openOn(given(), node, { title, ...more });

test('Lists show the records of all servers with a server column, and of one server without it.', async () => {
  const one = await open('laptop', 'local');
  const two = await open('gpu', 'there');
  const { stdout, stderr } = await cadre('sessions', 'list', '--padded');
  expect(stdout).toMatch(/^ID {8}NODE {4}PROVIDER/);
  expect(stdout).toMatch(new RegExp(`${one.id.slice(-8)}  laptop +acp .* local `));
  expect(stdout).toMatch(new RegExp(`${two.id.slice(-8)}  gpu +acp .* there `));
  expect(stderr).toBe('');
  const json = (await cadre('sessions', 'list', '--json')).json();
  expect(json).toMatchObject([{ node: 'gpu', id: two.id }, { node: 'laptop' }]);
  const alone = await cadre('sessions', 'list', '--on', 'gpu', '--padded');
  expect(alone.stdout).toMatch(/^ID {8}PROVIDER/);
  expect(alone.stdout).not.toContain('local');
  const direct = await cadre('sessions', 'list', '--url', given().url('gpu'), '--json');
  expect(direct.json()).toEqual((await cadre('sessions', 'list', '--on', 'gpu', '--json')).json());
});

test('A search covers all servers, newest first, and the state of an index names its server.', async () => {
  for (const node of ['laptop', 'gpu']) {
    const { id } = await open(node, `on ${node}`);
    await runTurn(given().client(node), id, 'say zebra');
  }
  const { stdout } = await cadre('search', 'zebra', '--kind', 'prompt');
  expect(stdout).toMatch(/prompt on gpu {2}gpu\n[^]*prompt on laptop {2}laptop\n/);
  const found = (await cadre('search', 'zebra', '-L', '1', '--json')).json();
  expect(found).toMatchObject([{ node: 'gpu', text: 'zebra' }]);
  const best = (await cadre('search', 'zebra', '--best', '--json')).json() as { node: string }[];
  expect(best.slice(0, 2).map(({ node }) => node)).toEqual(['laptop', 'gpu']);
  expect(await cadre('search', 'zebra', '--since', '23:59')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('invalid --since "23:59": expected a time') as string,
  });
  expect((await cadre('search', '""')).stderr).toBe(
    'cadre: <words>: the query contains no word to search for\n',
  );
  // An id in a search is a word, and does not choose a server.
  const id = `sess_${'0'.repeat(32)}`;
  expect(await cadre('search', id)).toMatchObject({ code: 0, stdout: '' });
  const status = (await cadre('search', '--status', '--json')).json();
  expect(status).toMatchObject([
    { node: 'laptop', state: 'ready' },
    { node: 'gpu', state: 'ready' },
  ]);
  const { code, stderr } = await cadre('search', '--forget');
  expect([code, stderr]).toEqual([
    2,
    'cadre: --forget works on only one server: choose the server with --url\n',
  ]);
  const forgotten = await cadre('search', '--forget', '--url', given().url('gpu'), '--json');
  expect(forgotten.json()).toMatchObject({ state: 'off', documents: 0 });
});

test('An id or title finds its server, and new work opens on the --on server or else the first.', async () => {
  const { id } = await open('gpu', 'find me');
  const sent = await cadre('sessions', 'send', 'find me', 'say found');
  expect([sent.code, sent.stdout]).toEqual([0, 'found\n']);
  expect((await cadre('sessions', 'get', id, '--json')).json()).toMatchObject({ id });
  const ran = await cadre('run', '--on', 'gpu', '--title', 'ran there', 'say hi');
  expect([ran.code, ran.stdout]).toEqual([0, 'hi\n']);
  const created = await cadre('sessions', 'create', '--title', 'made here');
  expect(created.code).toBe(0);
  const list = (await cadre('sessions', 'list', '--json')).json() as Record<string, unknown>[];
  const nodeOf = (title: string) => list.find((one) => one.title === title)?.node;
  expect([nodeOf('ran there'), nodeOf('made here')]).toEqual(['gpu', 'laptop']);
});

test('A process runs on the server of its session, and approvals of all servers are listed.', async () => {
  const session = await open('gpu', 'asks', { permission_mode: 'require_approval' });
  const ran = await cadre('processes', 'run', '--session', session.id, '--wait', 'exit 3');
  expect(ran.code).toBe(3);
  expect((await cadre('processes', 'list')).stdout).toMatch(/\tgpu\tfailed\t3\t/);
  await send(given().client('gpu'), session.id, 'ask may I?; say thanks');
  await expect
    .poll(async () => (await cadre('approvals', 'list')).stdout, { timeout: scaled(10_000) })
    .toMatch(/\tgpu\t.*may I\?/);
  const [waits] = (await cadre('approvals', 'list', '--json')).json() as { id: string }[];
  const answered = await cadre('approvals', 'accept', waits?.id.slice(-8) ?? '');
  expect(answered.stdout).toBe('accepted: may I?\n');
});

test('cadre status and cadre top show the state of each server.', async () => {
  const { stdout } = await cadre('status');
  expect(stdout).toMatch(/^NODE +STATUS/);
  expect(stdout).toMatch(/\nlaptop +ok /);
  const top = (await cadre('top', '--json')).json() as Record<string, unknown[]>;
  expect(top.servers).toMatchObject([
    { node: 'laptop', state: 'reachable', detail: null, server: { health: { status: 'ok' } } },
    { node: 'gpu', state: 'reachable', url: given().url('gpu') },
  ]);
  expect(top.sessions?.every((one) => 'node' in (one as object))).toBe(true);
});

test('Invalid server names and addresses are refused with the reason.', async () => {
  const [one, two] = [given().url('laptop'), given().url('gpu')];
  const refused = async (...args: string[]) => {
    const { code, stderr } = await cadre('sessions', 'list', ...args);
    return [code, stderr];
  };
  expect(await refused('--on', 'gpuu')).toEqual([
    2,
    'cadre: server "gpuu" not found: the servers are laptop, gpu\n',
  ]);
  expect(await refused('--on', 'gpu', '--on', 'laptop')).toEqual([
    2,
    'cadre: --on was given more than once: name only one server\n',
  ]);
  expect(await refused('--url', one, '--url', one)).toEqual([
    2,
    'cadre: server "laptop" was given twice: pass each --url only once\n',
  ]);
  expect(await refused('--url', one, '--url', 'nonsense')).toEqual([
    2,
    'cadre: invalid server address "nonsense": expected http://HOST:PORT\n',
  ]);
  const files = ['--token-file', 'a', '--token-file', 'b', '--token-file', 'c'];
  expect(await refused('--url', one, '--url', two, ...files)).toEqual([
    2,
    'cadre: --token-file does not match --url: pass --token-file once for all servers, or once for each --url\n',
  ]);
  expect((await cadre('events', 'tail', '--after-seq', '3')).stderr).toMatch(
    /--after-seq with a number requires one server/,
  );
  for (const how of [[], ['--no-follow']]) {
    const wrong = await cadre('events', 'tail', '--kind', 'nonsense', ...how);
    expect([wrong.code, wrong.stderr]).toEqual([
      2,
      expect.stringMatching(/^cadre: --kind: there is no kind "nonsense"[^\n]*\n$/),
    ]);
  }
});

test('Several addresses and token files can be given by flags alone.', async () => {
  const flags = ['laptop', 'gpu'].flatMap((name) => [
    '--url',
    given().url(name),
    '--token-file',
    given().tokenFile(name),
  ]);
  const env = { CADRE_CONFIG: path.join(given().home, 'none.toml') };
  const { stdout } = await given().cadre(['status', '--json', ...flags], { env });
  const hosts = ['laptop', 'gpu'].map((name) => new URL(given().url(name)).host);
  expect(JSON.parse(stdout)).toMatchObject(hosts.map((node) => ({ node, state: 'reachable' })));
});

test('A refused token is reported with its server, and with the place for a configured token.', async () => {
  const [laptop, gpu] = [given().url('laptop'), given().url('gpu')];
  const both = ['--url', laptop, '--url', gpu, '--token-file', given().tokenFile('laptop')];
  for (const command of [['status'], ['sessions', 'list']])
    expect((await cadre(...command, ...both)).stderr).toMatch(
      /^cadre: gpu: missing or invalid bearer token/m,
    );
  const config = path.join(given().home, 'no-token.toml');
  await fs.promises.writeFile(config, `[[servers]]\nname = "gpu"\nurl = "${gpu}"\n`);
  const { code, stderr } = await given().cadre(['status'], { env: { CADRE_CONFIG: config } });
  expect([code, stderr]).toEqual([
    4,
    `cadre: gpu: no token for the server ${gpu}, so no request was sent: set token_file in [[servers]], or pass --token-file FILE\n`,
  ]);
});

test('CADRE_SERVERS replaces the file, and its errors name the variable.', async () => {
  const one = { name: 'only', url: given().url('gpu'), token_file: given().tokenFile('gpu') };
  const asked = (servers: string) =>
    given().cadre(['sessions', 'list', '--on', 'only'], {
      env: {
        XDG_CONFIG_HOME: path.join(given().home, 'no-config'),
        CADRE_SERVERS: servers,
      },
    });
  expect(await asked(JSON.stringify([one]))).toMatchObject({ code: 0, stderr: '' });
  expect((await asked('nonsense')).stderr).toMatch(/environment CADRE_SERVERS/);
});

test('The token of the environment is not sent to configured servers.', async () => {
  const env = { CADRE_TOKEN: 'wrong-token-of-the-environment' };
  const { code } = await given().cadre(['status'], { env });
  expect(code).toBe(0);
});

test('Completion offers ids of all servers, and the server names.', async () => {
  const { id } = await open('gpu', 'complete me');
  const complete = (...words: string[]) => completeHere(given().home, words);
  expect((await complete('sessions', 'get', '')).stdout).toContain(
    `${id.slice(-8)}\tready  complete me`,
  );
  for (const line of [
    ['run', '--on', ''],
    ['events', 'tail', '--node', ''],
  ])
    expect((await complete(...line)).stdout).toBe(
      `laptop\t${given().url('laptop')}\ngpu\t${given().url('gpu')}\n`,
    );
});

test('cadre events tail continues from one cursor file, and writes no line twice.', async () => {
  const given = await testServers(['laptop', 'gpu']);
  const { home } = given;
  const names = ['laptop', 'gpu'] as const;
  for (const name of names)
    await openSession(given.client(name), given.directory(name), { title: name });
  const cursor = path.join(home, 'cursor');
  const output = path.join(home, 'events');
  const words = ['events', 'tail', '--no-follow', '--json', '--cursor-file', cursor];
  const tail = () => given.cadre(words);
  const first = await runCadre(home, words);
  expect(first.lines().map(({ node }) => node)).toEqual(expect.arrayContaining([...names]));
  expect((await tail()).stdout).toBe('');
  await openSession(given.client('gpu'), given.directory('gpu'), { title: 'later' });
  const later = await tail();
  expect(later.lines()).toMatchObject([{ node: 'gpu', kind: 'session.created' }]);
  // After a kill, the output may have a line that the cursor does not include, and half a line.
  const [whole = ''] = later.stdout.split('\n');
  fs.writeFileSync(output, '');
  const saved = { ...(JSON.parse(fs.readFileSync(cursor, 'utf8')) as object), bytes: 0 };
  const { cursor: text } = saved as unknown as { cursor: string };
  const before = JSON.parse(text) as Record<string, { seq: number }>;
  if (before.gpu) before.gpu.seq -= 1;
  fs.writeFileSync(cursor, JSON.stringify({ ...saved, cursor: JSON.stringify(before) }));
  fs.writeFileSync(output, `${whole}\n${whole.slice(0, 30)}`);
  await runTurn(
    given.client('laptop'),
    (await openSession(given.client('laptop'), home)).id,
    'say end',
  );
  await appendTo(output, home, cursor);
  const lines = fs.readFileSync(output, 'utf8').trimEnd().split('\n');
  expect(lines[0]).toBe(whole);
  const keys = lines.map((line) => {
    const { node, seq } = JSON.parse(line) as { node: string; seq: number };
    return `${node} ${seq}`;
  });
  expect(new Set(keys).size).toBe(keys.length);
  expect(keys.filter((key) => key.startsWith('gpu'))).toHaveLength(1);
});

test('cadre events tail reports when a server disappears and returns, and continues.', async () => {
  const given = await testServers(['laptop', 'gpu']);
  const tail = startCadre(given.home, ['events', 'tail', '--kind', 'session.created']);
  await openSession(given.client('gpu'), given.directory('gpu'), { title: 'one' });
  await tail.until('one');
  await given.stop('gpu');
  await expectEventually(tail.stderr).toMatch(/gpu is unreachable: /);
  await openSession(given.client('laptop'), given.directory('laptop'), { title: 'two' });
  await tail.until('two');
  await given.start('gpu');
  await openSession(given.client('gpu'), given.directory('gpu'), { title: 'three' });
  await tail.until('three');
  expect(tail.stderr()).toContain('cadre: gpu is reachable again\n');
  expect(tail.stdout()).toMatch(/^gpu +\d+ .*\nlaptop +\d+ .*\ngpu +\d+ /);
  tail.child.kill('SIGINT');
  expect((await tail.ended).code).toBe(130);
});

test('An unreachable server does not affect the others, and its commands end with 6 and its name.', async () => {
  const given = await testServers(['laptop', 'gpu']);
  const { id } = await openSession(given.client('gpu'), given.directory('gpu'), {
    title: 'last words',
  });
  await given.cadre(['sessions', 'list']);
  await given.stop('gpu');
  const list = await given.cadre(['sessions', 'list', '--padded']);
  expect(list.code).toBe(0);
  expect(list.stdout).toMatch(new RegExp(`${id.slice(-8)}  gpu \\(\\d+s old\\) .* last words `));
  expect(list.stderr).toMatch(/^cadre: gpu is unreachable: no server answers at http/);
  const send = await given.cadre(['sessions', 'send', id.slice(-8), 'say hi']);
  expect(send.code).toBe(6);
  expect(send.stderr).toMatch(/^cadre: gpu is unreachable/);
  const run = await given.cadre(['run', '--on', 'gpu', 'say hi']);
  expect([run.code, run.stderr.startsWith('cadre: gpu is unreachable')]).toEqual([6, true]);
  const unknown = await given.cadre(['sessions', 'get', 'no such title']);
  expect(unknown.code).toBe(6);
  expect(unknown.stderr).toMatch(/gpu is unreachable.*session ".*" not found/);
  const top = await given.cadre(['top']);
  expect(top.stdout).toMatch(/\ngpu +unreachable +1 /);
  expect(top.stdout).toMatch(/gpu \(\d+s old\) .* last words/);
  const version = await given.client('laptop').call(endpoints.getVersion, {});
  expect(version.epoch).toMatch(/^epoch_/);
});

/** Appends the output of a tail to a file. */
async function appendTo(file: string, home: string, cursor: string): Promise<void> {
  const words = `events tail --no-follow --json --cursor-file '${cursor}' >> '${file}'`;
  const { code } = await shell(home, `cadre ${words}`);
  expect(code).toBe(0);
}

test('cadre teams show --watch shows changes of a team on a server that is not the first one.', async () => {
  const given = await testServers(['laptop', 'gpu']);
  const gpu = given.client('gpu');
  const lead = await openSession(gpu, given.directory('gpu'), { title: 'lead' });
  const body = { name: 'crew', lead_agent_id: lead.id };
  const { team } = await gpu.call(endpoints.createTeam, { body });
  const watching = startCadre(given.home, ['teams', 'show', team.id, '--watch', '--json']);
  await watching.until('\n');
  const other = await openSession(gpu, given.directory('gpu'), { title: 'newcomer' });
  await gpu.call(endpoints.addMember, {
    params: { team_id: team.id },
    body: { agent_id: other.id },
  });
  await watching.until('newcomer');
  watching.child.kill('SIGINT');
  expect((await watching.ended).code).toBe(130);
});
