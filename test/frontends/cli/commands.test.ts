import fs from 'node:fs';
import net, { type AddressInfo } from 'node:net';
import path from 'node:path';
import { expect, test } from 'vitest';
import { testDemo } from '../../support/demo-server.ts';
import type { Session } from '../../../src/api/sessions.ts';
import { version } from '../../../src/core/lib/self.ts';
import { testServer } from '../../support/server.ts';
import { tempDirectory, testDirectory } from '../../support/temp.ts';
import { cadreOn, runCadre, runHere, testCadre, expectFailure } from '../../support/cli/cadre.ts';

test('cadre prints its version as one line or as JSON.', async () => {
  using home = tempDirectory();
  const short = await runCadre(home.path, ['--version']);
  expect([short.code, short.stdout, short.stderr]).toEqual([0, `${version}\n`, '']);
  const long = await runCadre(home.path, ['version']);
  expect(long.stdout).toMatch(
    new RegExp(`^cadre ${version.replaceAll('.', '\\.')} \\(\\w+, node v\\d+\\.[\\d.]+\\)\n$`),
  );
  const json = await runHere(home.path, ['version', '--json']);
  expect(json.json()).toMatchObject({ name: 'cadre', version, node: process.version });
  for (const asked of ['--version --json', '--json -V', '--version --jq .'])
    expect((await runHere(home.path, asked.split(' '))).json()).toEqual(json.json());
  expect(fs.readdirSync(home.path)).toEqual([]);
});

test('cadre prints the licences of its packages as text or as JSON.', async () => {
  using home = tempDirectory();
  const text = await runCadre(home.path, ['licenses']);
  expect(text.stdout).toMatch(/^ {2}zod \d\S*, MIT$/m);
  const json = await runHere(home.path, ['licenses', '--json']);
  const { licenses } = json.json() as { licenses: { name: string; text: string }[] };
  expect(text.stdout).toContain(licenses.find(({ name }) => name === 'zod')?.text);
  expect([text.code, json.code]).toEqual([0, 0]);
});

test('The help is printed on stdout, and the exit code is 0.', async () => {
  using home = tempDirectory();
  for (const args of [['--help'], ['help'], ['sessions', '--help'], ['run', '--help']]) {
    const { code, stdout, stderr } = await runHere(home.path, args);
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).toMatch(/^Usage: cadre/m);
  }
});

test('A command without a server ends with 6 and the command that starts one.', async () => {
  using home = tempDirectory();
  for (const args of [['status'], ['run', 'hello'], ['sessions', 'list'], ['events', 'tail']]) {
    expectFailure(
      await runHere(home.path, args),
      6,
      /no server is running on .*: start one with cadre serve --detach/,
    );
  }
  const data = `${home.path}/my data`;
  for (const command of ['status', 'doctor']) {
    const { stdout, stderr } = await runHere(home.path, ['--data-dir', data, command]);
    expect(stdout + stderr).toContain(`start one with cadre serve --detach --data-dir '${data}'`);
  }
  const env = { CADRE_TOKEN: 'some-token-some-token' };
  const named = await runHere(home.path, ['--url', 'http://127.0.0.1:1', 'status'], { env });
  expectFailure(
    named,
    6,
    /no server answers at http:\/\/127\.0\.0\.1:1: start one with cadre serve --detach/,
  );
});

test('With --json, an error is JSON on stderr with code, message and hint.', async () => {
  const { code, stdout, stderr } = await runHere(testDirectory(), ['--json', 'status']);
  expect([code, stdout]).toEqual([6, '']);
  expect(JSON.parse(stderr)).toEqual({
    error: {
      code: 'unreachable',
      message: expect.stringMatching(/^no server is running on /),
      hint: expect.stringMatching(/^start one with cadre serve --detach/),
    },
  });
  expect(stderr.trim().split('\n')).toHaveLength(1);
});

test('A stale registration counts as no server.', async () => {
  using home = tempDirectory();
  const registration = { url: 'http://127.0.0.1:1', pid: 2 ** 22 + 1, version, token_file: null };
  fs.writeFileSync(path.join(home.path, 'server.json'), JSON.stringify(registration));
  expectFailure(
    await runHere(home.path, ['--data-dir', home.path, 'status']),
    6,
    /no server is running on/,
  );
});

test.each(['localhost:7433', 'ftp://127.0.0.1:1', 'http://127.0.0.1:70000'])(
  'The invalid server address %s is refused, also with a token.',
  async (url) => {
    using home = tempDirectory();
    for (const env of [{}, { CADRE_TOKEN: 'x'.repeat(32) }]) {
      const ended = await runHere(home.path, ['--url', url, 'status'], { env });
      expectFailure(ended, 2, /^cadre: invalid server address ".*": expected http:\/\/HOST:PORT$/m);
    }
  },
);

const wrong: string[][] = [
  ['nonsense'],
  ['sessions', 'nonsense'],
  ['run'],
  ['status', '--nonsense'],
  ['sessions', 'list', '--status', 'open'],
  ['run', '--provider', 'gpt', 'hello'],
  ['events', 'tail', '--session'],
];

test('A usage error ends with 2 and one line on stderr, and prints nothing on stdout.', async () => {
  using home = tempDirectory();
  for (const args of wrong) {
    expectFailure(await runHere(home.path, args), 2, /^cadre: /);
  }
});

test('A misspelled command suggests the correct command.', async () => {
  const { stderr } = await runHere(testDirectory(), ['sesions', 'list']);
  expect(stderr).toContain('did you mean cadre sessions list?');
});

test('A usage error with --json is JSON on stderr.', async () => {
  using home = tempDirectory();
  for (const args of [
    ['--json', 'nonsense'],
    ['--json', 'run'],
    ['status', '--json', '--nonsense'],
  ]) {
    const { code, stderr } = await runHere(home.path, args);
    expect(code).toBe(2);
    expect(JSON.parse(stderr)).toMatchObject({
      error: { code: 'usage', message: expect.any(String) },
    });
  }
});

test('A name that does not exist ends with 3, and a usage error that the server or the command finds with 2.', async () => {
  const { cadre } = await testCadre();
  expectFailure(
    await cadre(['sessions', 'get', 'abc']),
    3,
    /session "abc" not found: pass the last 6 or more characters of the id, or the title/,
  );
  expectFailure(
    await cadre(['run', '  ']),
    2,
    /no text to send: pass the text as an argument, or pass -/,
  );
  expectFailure(await cadre(['run', '-'], { stdin: '\n' }), 2, /no text to send/);
  expectFailure(
    await cadre(['run', '--cwd', '/no/such/place', 'hello']),
    2,
    /cwd "\/no\/such\/place" does not exist/,
  );
  expectFailure(
    await cadre(['events', 'tail', '--after-seq', 'soon']),
    2,
    /invalid --after-seq "soon": expected a sequence number/,
  );
  expectFailure(
    await cadre(['sessions', 'create', '--metadata', '{']),
    2,
    /invalid --metadata: expected valid JSON \(/,
  );
  expectFailure(
    await cadre(['sessions', 'list', '--limit', '0']),
    2,
    /--limit: has to be at least 1/,
  );
  expectFailure(
    await cadre(['--token-file', '/no/such/file', 'status']),
    2,
    /token file .* not found: check --token-file/,
  );
});

test('A wrong token ends with 4, and an unknown session with 3.', async () => {
  const { cadre, server } = await testCadre();
  const env = { CADRE_TOKEN: 'wrong-token-wrong-token' };
  expectFailure(await cadre(['status'], { env }), 4, /missing or invalid bearer token/);
  const nobody = `sess_${'0'.repeat(32)}`;
  expectFailure(
    await cadre(['sessions', 'get', nobody]),
    3,
    /session "sess_0+" not found: see cadre sessions list/,
  );
  expectFailure(
    await cadre(['sessions', 'get', 'ffffff']),
    3,
    /session "ffffff" not found: see cadre sessions list/,
  );
  expectFailure(await cadre(['sessions', 'send', nobody, 'hello']), 3, /not found/);
  expectFailure(await cadre(['events', 'tail', '--session', nobody]), 3, /not found/);
  const json = await cadre(['--json', 'sessions', 'get', nobody]);
  expect(JSON.parse(json.stderr)).toEqual({
    error: {
      code: 'not_found',
      message: expect.any(String),
      hint: `see cadre sessions list --data-dir ${server.directory}`,
    },
  });
});

test('Flags override the environment, and the environment overrides the registration.', async () => {
  const { url, token, directory } = await testDemo();
  const file = path.join(directory, 'my-token');
  fs.writeFileSync(file, token, { mode: 0o600 });
  const right = { CADRE_URL: url, CADRE_TOKEN: token };
  const wrong = { CADRE_URL: 'http://127.0.0.1:1', CADRE_TOKEN: 'wrong-token-wrong-token' };
  const flags = ['--url', url, '--token-file', file];
  const elsewhere = path.join(directory, 'empty');
  const code = async (args: string[], env: Record<string, string> = {}) =>
    (await runHere(elsewhere, [...args, 'status'], { env, cwd: directory })).code;
  expect(await code(['--data-dir', directory])).toBe(0);
  expect(await code([], { CADRE_DATA_ROOT_DIR: directory })).toBe(0);
  expect(await code([], right)).toBe(0);
  expect(await code(['--data-dir', directory], wrong)).toBe(6);
  expect(await code(flags, wrong)).toBe(0);
  fs.chmodSync(file, 0o644);
  expect(await code(flags)).toBe(2);
  expect(await code(['--url', url])).toBe(4);
});

test('The token of the local server is only sent to its own address.', async () => {
  const { url, directory } = await testDemo();
  const heard: string[] = [];
  const other = net.createServer((socket) => {
    socket.on('data', (said) => heard.push(String(said)));
    socket.on('error', () => undefined);
  });
  await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
  try {
    const { port } = other.address() as AddressInfo;
    const named = [
      [['--url', `http://127.0.0.1:${port}`], {}],
      [[], { CADRE_URL: `http://127.0.0.1:${port}` }],
      // Another name of the same machine may resolve to another address.
      [['--url', url.replace('127.0.0.1', 'localhost')], {}],
      [['--url', url.replace('127.0.0.1', '127.0.0.1.evil.example')], {}],
    ] as const;
    for (const [args, env] of named) {
      const ended = await runHere(directory, ['--data-dir', directory, ...args, 'status'], {
        env,
      });
      expectFailure(ended, 4, /no token for .*--token-file/);
    }
    expect(heard).toEqual([]);
    const same = ['--data-dir', directory, '--url', `${url}/`, 'status'];
    expect((await runHere(directory, same)).code).toBe(0);
  } finally {
    other.close();
  }
});

test.for([
  ['an empty object', 200, '{}'],
  ['a list', 200, '[]'],
  ['null', 200, 'null'],
  ['a page', 200, '<html></html>'],
  ['nothing', 200, ''],
  ['a page with the status 404', 404, '<html>not found</html>'],
  ['a gateway without its server', 502, 'bad gateway'],
  ['a redirect', 302, ''],
] as const)(
  'The answer of another program (%s) ends with 6 and one sentence.',
  async ([, status, body]) => {
    for (const headers of [[], ['X-Epoch: epoch_1']]) {
      const lines = [`HTTP/1.1 ${status} Whatever`, ...headers, 'Connection: close', '', body];
      const other = net.createServer((socket) => {
        socket.on('error', () => undefined);
        socket.once('data', () => socket.end(lines.join('\r\n')));
      });
      await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
      await using home = tempDirectory();
      try {
        const { port } = other.address() as AddressInfo;
        const env = { CADRE_URL: `http://127.0.0.1:${port}`, CADRE_TOKEN: 'some-token-some' };
        const ended = await runHere(home.path, ['status'], { env });
        expectFailure(
          ended,
          6,
          /unexpected response from .*: check --url and the version of the server/,
        );
      } finally {
        other.close();
      }
    }
  },
);

test('A client finds a server in the data directory of the configuration.', async () => {
  const home = testDirectory();
  const data = path.join(home, 'elsewhere');
  const configured = path.join(home, '.config', 'cadre');
  fs.mkdirSync(configured, { recursive: true });
  fs.writeFileSync(path.join(configured, 'config.toml'), `[data]\nroot_dir = "${data}"\n`);
  await testServer({ directory: data });
  expect(await runHere(home, ['status'])).toMatchObject({ code: 0 });
});

test('Sessions can be created, listed, read and prompted by their whole ids or the ends of them.', async () => {
  const { server, cadre } = await testCadre();
  const created = await cadre([
    'sessions',
    'create',
    '--title',
    'My one',
    '--metadata',
    '{"a":[1]}',
  ]);
  expect([created.code, created.stderr]).toEqual([0, '']);
  expect(created.stdout).toMatch(/^sess_[0-9a-f]{32}\n$/);
  const id = created.stdout.trim();
  const got = await cadre(['--json', 'sessions', 'get', id.slice(-6)]);
  expect(got.json()).toMatchObject({
    id,
    title: 'My one',
    metadata: { a: [1] },
    provider: 'acp',
    status: 'ready',
    cwd: server.directory,
  });
  const people = await cadre(['sessions', 'get', id.slice(-8)]);
  expect(people.stdout).toMatch(new RegExp(`^id +${id}$`, 'm'));
  expect(people.stdout).toMatch(/^title +My one$/m);

  const json = (await cadre(['--json', 'sessions', 'create', '--cwd', '/tmp'])).json() as Session;
  expect(json).toMatchObject({ status: 'ready', title: null });
  const listed = await cadre(['sessions', 'list', '--padded']);
  const [heading, first, second] = listed.stdout.split('\n');
  expect(heading).toMatch(/^ID +PROVIDER +STATUS +ACTIVE +TITLE +LAST MESSAGE +CWD$/);
  expect(first).toMatch(new RegExp(`^${json.id.slice(-8)} +acp +ready +\\d+s +- +`));
  expect(second).toMatch(new RegExp(`^${id.slice(-8)} +acp +ready +\\d+s +My one +`));
  const one = await cadre(['--json', 'sessions', 'list', '--limit', '1', '--status', 'ready']);
  expect((one.json() as Session[]).map((session) => session.id)).toEqual([json.id]);

  const sent = await cadre(['sessions', 'send', id.slice(-10), 'say hello there']);
  expect(sent).toMatchObject({ code: 0, stdout: 'hello there\n', stderr: '' });
  const again = await cadre(['sessions', 'send', id, 'history']);
  expect(again.stdout).toContain('earlier turns: 1');
});

test('cadre sessions send --no-wait returns at once, and a conflict ends with 7.', async () => {
  const { cadre } = await testCadre();
  const id = (await cadre(['sessions', 'create'])).stdout.trim();
  const sent = await cadre(['--json', 'sessions', 'send', id, 'silent', '--no-wait']);
  expect(sent.json()).toMatchObject({ session_id: id, status: 'accepted' });
  expectFailure(
    await cadre(['sessions', 'send', id, 'say more']),
    7,
    /is still running: wait until the turn ends/,
  );
  const guarded = await cadre(['sessions', 'send', id, 'say more', '--expect', 'turn_other']);
  expectFailure(guarded, 7, /expected_turn_id is "turn_other"/);
});

test('cadre run works in the current directory, not in the directory of the server.', async () => {
  const server = await testDemo();
  const place = path.join(server.directory, 'project');
  fs.mkdirSync(place);
  const ran = await cadreOn(server)(['run', 'cwd'], { cwd: place });
  expect(ran.stdout).toContain(place);
});

test('cadre status prints a few lines, and all fields with --json.', async () => {
  const { server, cadre } = await testCadre();
  const people = await cadre(['status']);
  expect(people.stdout).toMatch(new RegExp(`^server +${server.url}$`, 'm'));
  expect(people.stdout).toMatch(/^status +ok$/m);
  expect((await cadre(['status', '--json'])).json()).toMatchObject({
    health: { status: 'ok', version },
    providers: [{ id: 'acp', healthy: true }, { id: 'claude' }, { id: 'codex' }],
  });
});

test('A prompt in place of the optional value of an option is refused with the way to leave the value out.', async () => {
  const { code, stderr } = await runHere(testDirectory(), ['run', '--sandbox', 'fix the bug']);
  expect([code, stderr]).toEqual([
    2,
    'cadre: invalid --sandbox "fix the bug": expected off, auto, require (to leave out the mode, write --sandbox at the end of the command): see cadre run --help\n',
  ]);
});

test('An unknown option that means the time of a prompt is answered with the option for times.', async () => {
  const { code, stderr } = await runHere(testDirectory(), [
    'queue',
    'add',
    's',
    '--in',
    '5m',
    'hi',
  ]);
  expect([code, stderr]).toEqual([
    2,
    'cadre: unknown option "--in" (did you mean --at +5m?): see cadre queue add --help\n',
  ]);
});
