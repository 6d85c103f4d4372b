import fs from 'node:fs';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { withDemo } from '../../support/demo-server.ts';
import { withRuntime } from '../../support/runtime.ts';
import { withServer } from '../../support/server.ts';
import { tempDirectory } from '../../support/temp.ts';
import { cadreOn, type Ended, runCadre, runHere } from '../../support/cli/cadre.ts';
import { pathWith, putProgram } from '../../support/providers/demo-agents.ts';

type Found = { ok: boolean; checks: { check: string; status: string; detail: string }[] };

/** What it found, by the name of the check. */
function findingsOf(ended: Ended): Record<string, [status: string, detail: string]> {
  const { checks } = ended.json() as Found;
  return Object.fromEntries(checks.map(({ check, status, detail }) => [check, [status, detail]]));
}

const names = [
  'node',
  'prerequisites',
  'git',
  'configuration',
  'data directory',
  'disk space',
  'token',
  'registration',
  'server',
  'providers',
  'rules',
];

describe('cadre doctor --agents', () => {
  test('starts each agent, says which opens a session and what is wrong with the others, and leaves nothing.', async () => {
    await using home = tempDirectory();
    const bin = path.join(home.path, 'bin');
    const tmp = path.join(home.path, 'tmp');
    for (const directory of [bin, tmp]) fs.mkdirSync(directory);
    const PATH = pathWith(bin, 'gemini', 'opencode', 'demo-agent');
    putProgram(bin, 'qwen', 'echo "I need a key" >&2; exit 3');
    const config = path.join(home.path, 'config.toml');
    fs.writeFileSync(
      config,
      '[providers.acp.agents.opencode]\n[providers.acp.agents.mine]\ncommand = "no-such"\n' +
        '[providers.acp.agents.own]\ncommand = "demo-agent"\nmodes = { read_only = "read_only" }\n',
    );
    const env = { PATH, TMPDIR: tmp, CADRE_CONFIG: config };
    const ended = await runCadre(home.path, ['doctor', '--agents', '--json'], { env });
    const found = findingsOf(ended);
    expect(ended.code).toBe(1);
    expect(Object.keys(found)).toEqual(
      expect.arrayContaining([...names, 'agent opencode', 'agent gemini', 'agent mine']),
    );
    expect(found['agent own']).toEqual([
      'ok',
      expect.stringMatching(/^cadre-demo \S+ opened a session$/),
    ]);
    // The demo agent, which stands for these, has other modes than those that the catalogue knows.
    expect(found['agent opencode']).toEqual([
      'warn',
      expect.stringMatching(
        /opened a session, but lacks the modes "plan" \(read_only\); its modes are default, .*providers\.acp\.agents\.opencode$/,
      ),
    ]);
    expect(found['agent gemini']).toEqual([
      'warn',
      expect.stringContaining('"plan" (read_only), "autoEdit" (accept_edits), "yolo"'),
    ]);
    expect(found['agent mine']).toEqual([
      'fail',
      expect.stringContaining('set providers.acp.agents.mine.command'),
    ]);
    // Nobody has configured it, so that it is no fault of the setup.
    expect(found['agent qwen']).toEqual(['warn', expect.stringContaining('I need a key')]);
    expect(fs.readdirSync(tmp)).toEqual([]);
  });

  test('says how to find agents where there is none.', async () => {
    await using home = tempDirectory();
    const ended = await runHere(home.path, ['doctor', '--agents', '--json']);
    expect([ended.code, findingsOf(ended).agents]).toEqual([
      0,
      ['warn', 'no agents are installed or configured: see cadre providers discover'],
    ]);
  });
});

describe('cadre doctor', () => {
  test('works where there is nothing yet, makes nothing, and says how to begin.', async () => {
    using home = tempDirectory();
    const { code, stdout, stderr } = await runCadre(home.path, ['doctor']);
    expect([code, stderr]).toEqual([0, '']);
    const lines = stdout.trimEnd().split('\n');
    expect(lines).toHaveLength(names.length);
    for (const line of lines) expect(line).toMatch(/^(ok {2}|warn) {2}\S/);
    expect(stdout).toMatch(
      /^warn {2}server +no server is running: start one with cadre serve --detach$/m,
    );
    expect(stdout).toMatch(
      /^warn {2}providers +acp: not configured: .*cadre serve --demo.*; claude: .*not found on PATH.*; codex: .*not found on PATH/m,
    );
    expect(fs.readdirSync(home.path)).toEqual([]);
  });

  test('A missing grep is a warning, because the server works without it.', async () => {
    using home = tempDirectory();
    const bin = path.join(home.path, 'bin');
    fs.mkdirSync(bin);
    for (const name of ['sh', 'flock']) fs.symlinkSync(`/usr/bin/${name}`, path.join(bin, name));
    const ended = await runHere(home.path, ['doctor', '--json'], { env: { PATH: bin } });
    expect(findingsOf(ended).prerequisites).toEqual([
      'warn',
      expect.stringMatching(/^grep not found: install it/),
    ]);
  });

  test('finds an agent on PATH that speaks ACP, and says how it is used.', async () => {
    await using home = tempDirectory();
    fs.symlinkSync('/bin/true', path.join(home.path, 'gemini'));
    const env = { PATH: `${home.path}:${process.env.PATH}` };
    const { stdout } = await runCadre(home.path, ['doctor'], { env });
    expect(stdout).toContain(
      'or name an agent that is installed: gemini: pass --agent (see cadre providers discover)',
    );
  });

  test('finds nothing wrong with a server that is well.', () =>
    withDemo(async (server) => {
      fs.chmodSync(server.directory, 0o700);
      const ended = await cadreOn(server)(['doctor', '--json']);
      expect(ended.code).toBe(0);
      expect((ended.json() as Found).ok).toBe(true);
      const found = findingsOf(ended);
      expect(Object.keys(found)).toEqual(names);
      for (const [status] of Object.values(found)) expect(status).toBe('ok');
      expect(found.server?.[1]).toContain(server.url);
      expect(found.registration?.[1]).toBe(`a server is running (pid ${process.pid})`);
      expect(found.providers?.[1]).toBe('acp: ready');
      expect(found.rules?.[1]).toBe('0 rules are valid');
    }));

  test('says which hook of the server that runs cannot work, and why.', () =>
    withServer(
      async (server) => {
        const found = findingsOf(await cadreOn(server)(['doctor', '--json']));
        expect(found.server?.[1]).toContain(
          'degraded (hooks: hook "typo": kinds: "turn.complete" matches no event kind',
        );
      },
      { config: '[[hooks]]\nname = "typo"\nkinds = ["turn.complete"]\ncommand = "true"\n' },
    ));

  test('says what the providers of the server that runs lack, and ends with 1.', () =>
    withRuntime(
      async (server) => {
        const ended = await cadreOn(server)(['doctor', '--json']);
        expect(ended.code).toBe(1);
        const found = findingsOf(ended);
        expect(found.server).toEqual(['warn', expect.stringContaining('degraded (providers)')]);
        expect(found.providers).toEqual([
          'fail',
          expect.stringContaining('"no-such-agent" not found on PATH'),
        ]);
      },
      { config: { providers: { acp: { command: 'no-such-agent' } } } },
    ));

  test('says the same of the providers that a server would have.', async () => {
    using home = tempDirectory();
    const env = { CADRE_PROVIDERS_ACP_COMMAND: 'no-such-agent' };
    const ended = await runHere(home.path, ['doctor', '--json'], { env });
    expect(ended.code).toBe(1);
    expect(findingsOf(ended).providers).toEqual([
      'fail',
      expect.stringContaining('"no-such-agent" not found on PATH'),
    ]);
  });

  test('goes on where the configuration is wrong, and says what of it.', async () => {
    using home = tempDirectory();
    const env = { CADRE_LOG_LEVEL: 'loud' };
    const ended = await runHere(home.path, ['doctor', '--json'], { env });
    expect(ended.code).toBe(1);
    const found = findingsOf(ended);
    expect(found.configuration).toEqual(['fail', expect.stringMatching(/^log\.level: /)]);
    expect(found.server).toEqual(['warn', expect.stringContaining('configuration')]);
  });

  test('warns of a file with secrets and of a data directory that others may read.', async () => {
    using home = tempDirectory();
    const config = path.join(home.path, 'config.toml');
    fs.writeFileSync(config, '[auth]\ntoken = "a-token-of-my-own"\n', { mode: 0o644 });
    const data = path.join(home.path, 'data');
    fs.mkdirSync(data, { mode: 0o755 });
    const args = ['--data-dir', data, 'doctor', '--json', '--config', config];
    const found = findingsOf(await runHere(home.path, args));
    expect(found.configuration).toEqual(['warn', expect.stringContaining('chmod 600')]);
    expect(found['data directory']).toEqual(['warn', expect.stringContaining('chmod 700')]);
    expect(found.token).toEqual(['ok', 'set by auth.token']);
  });

  test('warns of a secret that is too short to be kept out of the log, and takes no switch for a secret.', async () => {
    using home = tempDirectory();
    const config = path.join(home.path, 'config.toml');
    const check = async (env: string) => {
      fs.writeFileSync(config, `[providers.claude.env]\n${env}\n`, { mode: 0o644 });
      const args = ['doctor', '--json', '--config', config];
      return findingsOf(await runHere(home.path, args)).configuration;
    };
    const plain = 'GOOSE_DISABLE_KEYRING = "1"\nMAX_THINKING_TOKENS = "0"\nSKIP_KEY = "true"';
    expect(await check(plain)).toEqual(['ok', config]);
    expect(await check('MY_API_KEY = "abc1234"')).toEqual([
      'warn',
      expect.stringContaining('chmod 600'),
    ]);
    fs.chmodSync(config, 0o600);
    for (const short of ['abc1234', '1234', '12345678'])
      expect(await check(`MY_API_KEY = "${short}"`)).toEqual([
        'warn',
        expect.stringMatching(/^MY_API_KEY is shorter than 8 characters/),
      ]);
    expect(await check('MY_API_KEY = "abc12345"')).toEqual(['ok', config]);
  });

  test('fails on a token that others may read, a file in the way, and a disk that is full.', async () => {
    using home = tempDirectory();
    const token = path.join(home.path, 'token');
    fs.writeFileSync(token, 'a-token-of-my-own', { mode: 0o644 });
    const env = {
      CADRE_AUTH_TOKEN_FILE: token,
      CADRE_DATA_ROOT_DIR: path.join(token, 'data'),
      CADRE_RETENTION_MIN_FREE_BYTES: String(2 ** 52),
    };
    const ended = await runHere(home.path, ['doctor', '--json'], { env });
    expect(ended.code).toBe(1);
    const found = findingsOf(ended);
    expect(found.token).toEqual(['fail', expect.stringContaining('chmod 600')]);
    expect(found['data directory']).toEqual(['fail', expect.stringContaining('not a directory')]);
    expect(found['disk space']).toEqual(['fail', expect.stringContaining('min_free_bytes')]);
  });

  test('notices that the last server did not stop in order, and a token that is not the right one.', () =>
    withServer(async (server) => {
      const cadre = cadreOn(server);
      const env = { CADRE_TOKEN: 'wrong-token-wrong-token' };
      const wrong = await cadre(['doctor', '--json'], { env });
      expect(wrong.code).toBe(1);
      expect(findingsOf(wrong).server).toEqual(['fail', 'missing or invalid bearer token']);
      await server.end('SIGKILL');
      const found = findingsOf(await cadre(['doctor', '--json']));
      expect(found.registration).toEqual([
        'warn',
        expect.stringContaining(`pid ${server.pid}) did not shut down cleanly`),
      ]);
      expect(found.server?.[0]).toBe('warn');
      const status = await cadre(['status']);
      expect(status.code).toBe(6);
      expect(status.stderr).toContain(
        `the last server (pid ${server.pid}) did not shut down cleanly: start one with cadre serve --detach`,
      );
    }));

  test('does not wait for ever for a server that says nothing.', async () => {
    using home = tempDirectory();
    const silent = http.createServer(() => undefined);
    await new Promise((resolve) => silent.listen(0, '127.0.0.1', () => resolve(undefined)));
    const { port } = silent.address() as AddressInfo;
    const env = { CADRE_URL: `http://127.0.0.1:${port}`, CADRE_TOKEN: 'some-token-some-token' };
    const ended = await runHere(home.path, ['doctor', '--json'], { env });
    silent.closeAllConnections();
    silent.close();
    expect(ended.code).toBe(1);
    expect(findingsOf(ended).server).toEqual(['fail', expect.stringContaining('not answered')]);
  });
});
