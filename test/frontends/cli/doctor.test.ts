import fs from 'node:fs';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { expect, test } from 'vitest';
import { hasProc } from '../../../src/core/lib/platform.ts';
import { testDemo } from '../../support/demo-server.ts';
import { expectEventually } from '../../support/expect-eventually.ts';
import { testRuntime } from '../../support/runtime.ts';
import { hasSandbox } from '../../support/sandbox/available.ts';
import { testServer } from '../../support/server.ts';
import { tempDirectory, testDirectory } from '../../support/temp.ts';
import { cadreOn, type Ended, runCadre, runHere } from '../../support/cli/cadre.ts';
import { pathWith, putProgram } from '../../support/providers/demo-agents.ts';

type Found = { ok: boolean; checks: { check: string; status: string; detail: string }[] };

/** The findings, by the name of the check. */
function findingsOf(ended: Ended): Record<string, [status: string, detail: string]> {
  const { checks } = ended.json() as Found;
  return Object.fromEntries(checks.map(({ check, status, detail }) => [check, [status, detail]]));
}

/** An agent that opens a session only if the MCP server of the session lists tools of cadre. */
const listingAgent = `
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
const say = (message) => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\\n');
async function listed({ command, args, env }) {
  const variables = Object.fromEntries(env.map(({ name, value }) => [name, value]));
  const child = spawn(command, args, { env: { ...process.env, ...variables }, stdio: ['pipe', 'pipe', 'inherit'] });
  const send = (message) => child.stdin.write(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\\n');
  const clientInfo = { name: 'lister', version: '1' };
  send({ id: 1, method: 'initialize', params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo } });
  for await (const line of createInterface({ input: child.stdout })) {
    const { id, result } = JSON.parse(line);
    if (id === 1) {
      send({ method: 'notifications/initialized' });
      send({ id: 2, method: 'tools/list' });
    } else if (id === 2) {
      child.stdin.end();
      return result.tools.map(({ name }) => name);
    }
  }
  return [];
}
for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params } = JSON.parse(line);
  if (method === 'initialize')
    say({ id, result: { protocolVersion: 1, agentInfo: { name: 'lister', version: '1' }, agentCapabilities: {} } });
  else if (method === 'session/new') {
    const tools = params.mcpServers.length === 1 ? await listed(params.mcpServers[0]) : [];
    if (tools.includes('cadre_process_run')) say({ id, result: { sessionId: 's' } });
    else say({ id, error: { code: -32603, message: 'no tools: ' + tools.join(' ') } });
  }
}
`;

const names = [
  'node',
  'prerequisites',
  'git',
  'configuration',
  'data directory',
  'disk space',
  'token',
  'registration',
  'sandbox',
  'server',
  'provider acp',
  'rules',
];

test('The doctor starts each agent, reports which ones open a session, and leaves nothing.', async () => {
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
  // The demo agent replaces these agents, and its modes differ from the catalogue.
  expect(found['agent opencode']).toEqual([
    'warn',
    expect.stringMatching(
      /opened a session, but lacks the modes "plan" \(read_only\); its modes are "Default" \(default\), .*providers\.acp\.agents\.opencode$/,
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
  // The agent is not configured, so this is not an error of the setup.
  expect(found['agent qwen']).toEqual(['warn', expect.stringContaining('I need a key')]);
  expect(fs.readdirSync(tmp)).toEqual([]);
});

test('The doctor opens the session of an agent with the tools of cadre, which the agent can list.', async () => {
  await using home = tempDirectory();
  const bin = path.join(home.path, 'bin');
  fs.mkdirSync(bin);
  const script = path.join(home.path, 'agent.mjs');
  fs.writeFileSync(script, listingAgent);
  putProgram(bin, 'lister', `exec '${process.execPath}' '${script}'`);
  const config = path.join(home.path, 'config.toml');
  fs.writeFileSync(config, '[providers.acp.agents.lister]\ncommand = "lister"\n');
  const env = { PATH: `${bin}:${process.env.PATH}`, CADRE_CONFIG: config };
  const ended = await runCadre(home.path, ['doctor', '--agents', '--json'], { env });
  expect(findingsOf(ended)['agent lister']).toEqual([
    'ok',
    expect.stringMatching(/^lister 1 opened a session$/),
  ]);
});

test('The doctor also starts claude and codex, and reports which of them is not logged in.', async () => {
  await using home = tempDirectory();
  putProgram(home.path, 'codex', 'echo "no such subcommand" >&2; exit 2');
  putProgram(
    home.path,
    'claude',
    `[ "$*" = "auth status --json" ] && { echo '{"loggedIn": false}'; exit 1; }
read -r line; id=$(printf %s "$line" | sed 's/.*"request_id":"\\([^"]*\\)".*/\\1/')
printf '{"type":"control_response","response":{"subtype":"success","request_id":"%s","response":{"models":[]}}}\\n' "$id"
cat > /dev/null`,
  );
  const env = { PATH: `${home.path}:${process.env.PATH}` };
  const ended = await runCadre(home.path, ['doctor', '--agents', '--json'], { env });
  const found = findingsOf(ended);
  expect(found['provider claude']).toEqual(['ok', expect.stringContaining('doctor --agents')]);
  expect(found['agent claude']).toEqual([
    'warn',
    expect.stringMatching(/^not logged in: run "claude auth login"/),
  ]);
  expect(found['agent codex']).toEqual(['warn', expect.stringContaining('did not start')]);
});

test('The doctor without agents names the command that finds agents.', async () => {
  const ended = await runHere(testDirectory(), ['doctor', '--agents', '--json']);
  expect([ended.code, findingsOf(ended).agents]).toEqual([
    0,
    ['warn', 'no agents are installed or configured: see cadre providers discover'],
  ]);
});

test('The doctor works on an empty machine, creates nothing, and names the first step.', async () => {
  using home = tempDirectory();
  const { code, stdout, stderr } = await runCadre(home.path, ['doctor']);
  expect([code, stderr]).toEqual([0, '']);
  const lines = stdout.trimEnd().split('\n');
  expect(lines).toHaveLength(names.length + 2);
  for (const line of lines) expect(line).toMatch(/^(ok {2}|warn) {2}\S/);
  expect(stdout).toMatch(
    /^warn {2}server +no server is running: start one with cadre serve --detach$/m,
  );
  expect(stdout).toMatch(/^warn {2}provider acp +not configured: .*cadre serve --demo/m);
  for (const id of ['claude', 'codex'])
    expect(stdout).toMatch(new RegExp(`^warn {2}provider ${id} +command .*not found on PATH`, 'm'));
  expect(fs.readdirSync(home.path)).toEqual([]);
});

/** The programs without which a server does not start. Without /proc, other programs find processes and locks. */
const required = hasProc ? ['sh', 'flock'] : ['sh', 'ps', 'awk', 'lsof'];

test.skipIf(!hasProc)(
  'A missing grep is a warning, because the server works without it.',
  async () => {
    using home = tempDirectory();
    const bin = path.join(home.path, 'bin');
    fs.mkdirSync(bin);
    for (const name of required) fs.symlinkSync(`/usr/bin/${name}`, path.join(bin, name));
    const ended = await runHere(home.path, ['doctor', '--json'], { env: { PATH: bin } });
    expect(findingsOf(ended).prerequisites).toEqual([
      'warn',
      expect.stringMatching(/^the program grep was not found: install grep/),
    ]);
  },
);

test('The doctor names the problem if git refuses its configuration.', async () => {
  using home = tempDirectory();
  fs.writeFileSync(path.join(home.path, '.gitconfig'), '[core\n');
  const ended = await runCadre(home.path, ['doctor', '--json']);
  expect(findingsOf(ended).git).toEqual([
    'warn',
    expect.stringMatching(/^git does not work \(bad config line 1 in file .*\.gitconfig\): /),
  ]);
  const without = await runCadre(home.path, ['doctor', '--json'], { env: { PATH: '/nowhere' } });
  expect(findingsOf(without).git).toEqual([
    'warn',
    'git not found: install git, and check that it is on the PATH of the server',
  ]);
});

test('The doctor names the level of the sandbox, and fails if a required sandbox is not available.', async () => {
  const home = testDirectory();
  const bin = path.join(home, 'bin');
  fs.mkdirSync(bin);
  for (const name of [...required, 'grep', 'git'])
    fs.symlinkSync(`/usr/bin/${name}`, path.join(bin, name));
  const found = async (mode: string, PATH: string) => {
    const env = { PATH, CADRE_SANDBOX_MODE: mode };
    const ended = await runHere(home, ['doctor', '--json'], { env });
    return [ended.code, ...(findingsOf(ended).sandbox ?? [])];
  };
  const reason = expect.stringMatching(/^none, because .*(install the package bubblewrap|Linux)/);
  expect(await found('auto', bin)).toEqual([0, 'warn', reason]);
  expect(await found('require', bin)).toEqual([1, 'fail', reason]);
  if (!hasSandbox) return;
  const level = expect.stringMatching(/^(full: files, processes and network|partial, because)/);
  expect(await found('require', `${process.env.PATH}`)).toEqual([
    0,
    expect.stringMatching(/ok|warn/),
    level,
  ]);
  const tool = `${bin}:${process.env.PATH}`;
  expect(await found('auto', tool)).toContainEqual(expect.stringContaining(bin));
  expect(fs.readdirSync(home)).toEqual(['bin']);
});

test('The doctor finds an ACP agent on PATH and names the option for it.', async () => {
  await using home = tempDirectory();
  fs.symlinkSync('/bin/true', path.join(home.path, 'gemini'));
  const env = { PATH: `${home.path}:${process.env.PATH}` };
  const { stdout } = await runCadre(home.path, ['doctor'], { env });
  expect(stdout).toContain(
    'or name an agent that is installed: gemini: pass --agent (see cadre providers discover)',
  );
});

test('The doctor finds no problem on a healthy server.', async () => {
  const server = await testDemo();
  fs.chmodSync(server.directory, 0o700);
  const ended = await cadreOn(server)(['doctor', '--json']);
  expect(ended.code).toBe(0);
  expect((ended.json() as Found).ok).toBe(true);
  const found = findingsOf(ended);
  expect(Object.keys(found)).toEqual(names);
  for (const [status] of Object.values(found)) expect(status).toBe('ok');
  expect(found.server?.[1]).toContain(server.url);
  expect(found.registration?.[1]).toBe(`a server is running (pid ${process.pid})`);
  expect(found['provider acp']?.[1]).toBe('ready');
  expect(found.rules?.[1]).toBe('0 rules are valid');
});

test('The doctor reports a hook of the server that cannot work, with the reason.', async () => {
  const server = await testServer({
    config: '[[hooks]]\nname = "typo"\nkinds = ["turn.complete"]\ncommand = "true"\n',
  });
  const found = findingsOf(await cadreOn(server)(['doctor', '--json']));
  expect(found.server?.[1]).toContain(
    'degraded (hooks: hook "typo": kinds: "turn.complete" matches no event kind',
  );
});

test('A provider that is not logged in is a warning of doctor and the next step of discover, until somebody logs in.', async () => {
  const home = testDirectory();
  const says = path.join(home, 'says');
  fs.writeFileSync(says, '{"loggedIn": false}');
  putProgram(home, 'claude', `[ "$*" = "auth status --json" ] && cat ${says}`);
  const command = path.join(home, 'claude');
  const server = await testRuntime({
    asksLogins: true,
    config: { providers: { claude: { command } } },
  });
  const cadre = cadreOn(server);
  const listed = async () => (await cadre(['providers', 'list'])).stdout;
  await expectEventually(listed).toMatch(/^claude\t.*\tyes\tno\tnot logged in: run "claude auth/m);
  expect(findingsOf(await cadre(['doctor', '--json']))['provider claude']).toEqual([
    'warn',
    expect.stringMatching(/^not logged in: run "claude auth login"/),
  ]);
  expect((await cadre(['status'])).stdout).toMatch(/^claude\s+not logged in: run "claude auth/m);
  const discover = async () =>
    (
      await cadre(['providers', 'discover'], {
        env: { PATH: `${home}:${process.env.PATH}` },
      })
    ).stdout;
  expect(await discover()).toMatch(/^claude\t.*\tno\tnot logged in/m);
  fs.writeFileSync(says, '{"loggedIn": true}');
  expect(findingsOf(await cadre(['doctor', '--json']))['provider claude']).toEqual(['ok', 'ready']);
  expect((await cadre(['providers', 'list'])).stdout).toMatch(/^claude\t.*\tyes\tyes\tready$/m);
});

test('A program that no longer reports its login leaves what the server saw last.', async () => {
  const home = testDirectory();
  const asked = path.join(home, 'asked');
  const once = `[ -e ${asked} ] && exec sleep 1000; touch ${asked}; echo '{"loggedIn": false}'`;
  putProgram(home, 'claude', once);
  const command = path.join(home, 'claude');
  const server = await testRuntime({
    asksLogins: true,
    config: { providers: { claude: { command } } },
  });
  const cadre = cadreOn(server);
  const listed = async () => (await cadre(['providers', 'list'])).stdout;
  await expectEventually(listed).toMatch(/^claude\t.*\tyes\tno\tnot logged in/m);
  expect(findingsOf(await cadre(['doctor', '--json']))['provider claude']).toEqual([
    'warn',
    expect.stringMatching(/^not logged in: run "claude auth login"/),
  ]);
});

test('The doctor reports the problems of the providers of the server and ends with 1.', async () => {
  const server = await testRuntime({
    config: { providers: { acp: { command: 'no-such-agent' } } },
  });
  const ended = await cadreOn(server)(['doctor', '--json']);
  expect(ended.code).toBe(1);
  const found = findingsOf(ended);
  expect(found.server).toEqual(['warn', expect.stringContaining('degraded (providers)')]);
  expect(found['provider acp']).toEqual([
    'fail',
    expect.stringContaining('"no-such-agent" not found on PATH'),
  ]);
});

test('The doctor without a server reports the problems that its providers would have.', async () => {
  using home = tempDirectory();
  const env = { CADRE_PROVIDERS_ACP_COMMAND: 'no-such-agent' };
  const ended = await runHere(home.path, ['doctor', '--json'], { env });
  expect(ended.code).toBe(1);
  expect(findingsOf(ended)['provider acp']).toEqual([
    'fail',
    expect.stringContaining('"no-such-agent" not found on PATH'),
  ]);
});

test('cadre doctor reports an invalid configuration, and continues with the other checks.', async () => {
  using home = tempDirectory();
  const env = { CADRE_LOG_LEVEL: 'loud' };
  const ended = await runHere(home.path, ['doctor', '--json'], { env });
  expect(ended.code).toBe(1);
  const found = findingsOf(ended);
  expect(found.configuration).toEqual(['fail', expect.stringMatching(/^log\.level: /)]);
  expect(found.server).toEqual(['warn', expect.stringContaining('configuration')]);
});

test('The doctor warns if other users can read a file with secrets or the data directory.', async () => {
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

test('The doctor warns about a secret that is too short to be masked, and ignores switches.', async () => {
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
      expect.stringMatching(/^the secret MY_API_KEY is a number or shorter than 8 characters/),
    ]);
  expect(await check('MY_API_KEY = "abc12345"')).toEqual(['ok', config]);
});

test('The doctor fails on a readable token, a file in place of the data directory, and a full disk.', async () => {
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

test('The doctor reports an unclean stop of the last server and a wrong token.', async () => {
  const server = await testServer();
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
});

test('The doctor does not wait forever for a server that does not respond.', async () => {
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
