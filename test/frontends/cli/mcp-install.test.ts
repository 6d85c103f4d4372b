import fs from 'node:fs';
import path from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { endpoints } from '../../../src/api/index.ts';
import { runCadre, runHere } from '../../support/cli/cadre.ts';
import { callTool, withToolServer } from '../../support/mcp.ts';
import { openRuntime, type TestRuntime } from '../../support/runtime.ts';
import { startServer, type TestServer, untilNothingCarries } from '../../support/server.ts';
import { tempDirectory } from '../../support/temp.ts';

/** A claude that stores its servers like the real one, refuses a name in use, and records its arguments. */
const claude = `
const fs = require('node:fs');
const file = process.env.HOME + '/.claude.json';
const settings = fs.existsSync(file) ? JSON.parse(fs.readFileSync(file, 'utf8')) : { mcpServers: {} };
const words = process.argv.slice(2);
fs.appendFileSync(process.env.HOME + '/told', JSON.stringify(words) + '\\n');
const [, verb, , , name, , command, ...args] = words;
const fail = (why) => (console.error(why), process.exit(1));
if (fs.existsSync(process.env.HOME + '/broken')) fail('it is broken');
if (process.env.CLAUDE_CONFIG_DIR === '') fail('it would write into its working directory');
if (verb === 'add' && settings.mcpServers[name]) fail('it exists');
if (verb === 'add') settings.mcpServers[name] = { type: 'stdio', command, args };
else delete settings.mcpServers[name];
fs.writeFileSync(file, JSON.stringify(settings));
`;

interface Start {
  command: string;
  args: string[];
}

/** A home with scripted agents on PATH, and a server with a data directory below it. */
class Home implements AsyncDisposable {
  readonly #own = tempDirectory('mcp-install');
  readonly path = this.#own.path;
  readonly data = path.join(this.path, 'data');
  readonly bin = path.join(this.path, 'bin');
  #end: (() => Promise<unknown>) | null = null;

  constructor() {
    fs.mkdirSync(this.bin);
    this.program('claude', claude);
    this.program('opencode', '');
  }

  program(name: string, script: string): void {
    const text = `#!${process.execPath}\n${script}`;
    fs.writeFileSync(path.join(this.bin, name), text, { mode: 0o755 });
  }

  /** Starts a server in this process. */
  async serve(): Promise<TestRuntime> {
    const server = await openRuntime(this.data, {
      config: { providers: { acp: { command: '/bin/true' } } },
    });
    this.#end = () => {
      server.client.close();
      return server.runtime.stop();
    };
    return server;
  }

  /** Starts a server in another process, which a signal ends. */
  async serveApart(): Promise<TestServer> {
    const server = await startServer(this.data);
    this.#end = () => server.end('SIGKILL');
    return server;
  }

  async stop(): Promise<void> {
    await this.#end?.();
    this.#end = null;
  }

  cadre(...args: string[]) {
    return runHere(this.path, this.#words(args), { env: this.#env() });
  }

  /** Runs a command in another process. */
  cadreApart(...args: string[]) {
    return runCadre(this.path, this.#words(args), { env: this.#env() });
  }

  #words(args: readonly string[]): string[] {
    return ['--data-dir', this.data, ...args];
  }

  #env(): Record<string, string> {
    return { PATH: `${this.bin}:${process.env.PATH}`, CLAUDE_CONFIG_DIR: '' };
  }

  /** Returns the command with which claude starts the server. */
  start(): Start {
    const text = fs.readFileSync(path.join(this.path, '.claude.json'), 'utf8');
    return (JSON.parse(text) as { mcpServers: { cadre: Start } }).mcpServers.cadre;
  }

  recordedCommands(): string {
    return fs.readFileSync(path.join(this.path, 'told'), 'utf8');
  }

  /** Connects to the server that claude would start. */
  asClaude(use: Parameters<typeof withToolServer>[1]): Promise<void> {
    const { command, args } = this.start();
    return withToolServer({ command, args, env: { HOME: this.path } }, use);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
    await untilNothingCarries(this.path);
    await this.#own[Symbol.asyncDispose]();
  }
}

function home(): Home {
  const made = new Home();
  onTestFinished(() => made[Symbol.asyncDispose]());
  return made;
}

const run = (command: string) => ({ command, wait_ms: 30_000 });

test('cadre mcp install gives claude the process tools with a private token, which is in no argument and no log.', async () => {
  const own = home();
  const server = await own.serveApart();
  const mode = ['--permission-mode', 'full_access'];
  const made = await own.cadreApart('mcp', 'install', 'claude', ...mode, '--json');
  expect([made.code, made.stderr]).toEqual([0, '']);
  const tokens = await server.client.call(endpoints.listTokens, {});
  expect(tokens).toMatchObject([
    { name: 'claude on this machine', scope: 'tools', permission_mode: 'full_access' },
  ]);
  const id = tokens[0]?.id ?? '';
  expect(made.json()).toMatchObject({ agent: 'claude', token_id: id });
  expect(made.stdout + own.recordedCommands() + server.log()).not.toMatch(/cadre_[\w-]{43}/);
  const file = path.join(own.data, 'callers', 'claude.json');
  expect(fs.statSync(file).mode & 0o777).toBe(0o600);
  expect(fs.statSync(path.dirname(file)).mode & 0o777).toBe(0o700);

  await own.asClaude(async (client) => {
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual([
      'cadre_process_run',
      'cadre_process_status',
      'cadre_process_logs',
      'cadre_process_kill',
    ]);
    const { result } = await callTool(client, 'cadre_process_run', run('pwd'));
    expect(result.process).toMatchObject({ session_id: null, caller_id: id });
    expect(result.stdout_tail).toBe(`${process.cwd()}\n`);
    const team = await callTool(client, 'cadre_team_status');
    expect(team.error).toMatchObject({ code: 'unauthorized' });
    expect(team.error.message).toMatch(/this caller has no session/);
  });
  const listed = await own.cadre('mcp', 'list', '--json');
  expect(listed.json()).toMatchObject([
    { agent: 'claude', token_id: id, token_valid: true, last_used_at: expect.any(Number) },
  ]);

  const gone = await own.cadre('mcp', 'uninstall', 'claude', '--json');
  expect(gone.json()).toEqual({ agent: 'claude', entry_removed: true, revoked_token_id: id });
  expect(own.start()).toBeUndefined();
  expect(fs.existsSync(file)).toBe(false);
  expect(await server.client.call(endpoints.listTokens, {})).toEqual([]);
  expect((await own.cadre('mcp', 'list', '--json')).json()).toEqual([]);
  expect((await own.cadre('mcp', 'uninstall', 'claude')).code).toBe(3);
});

test('A second installation has one entry and one token, which a running server accepts.', async () => {
  const own = home();
  const server = await own.serve();
  await own.cadre('mcp', 'install', 'claude');
  const [first] = await server.client.call(endpoints.listTokens, {});
  await own.asClaude(async (client) => {
    const refused = await callTool(client, 'cadre_process_run', run('true'));
    expect(refused.error.code).toBe('unauthorized');
    expect(refused.error.message).toMatch(/full_access.*\[gateway\] free/);
    expect((await callTool(client, 'cadre_process_status')).ok).toBe(true);
    await own.cadre('mcp', 'install', 'claude', '--permission-mode', 'full_access');
    expect((await callTool(client, 'cadre_process_run', run('true'))).ok).toBe(true);
  });
  const tokens = await server.client.call(endpoints.listTokens, {});
  expect(tokens).toHaveLength(1);
  expect(tokens[0]?.id).not.toBe(first?.id);
});

test('The tools work again when the server starts, restarts or has another address.', async () => {
  const own = home();
  // This server is killed and leaves its registration; the next one stops cleanly.
  await own.serveApart();
  await own.cadre('mcp', 'install', 'claude', '--permission-mode', 'full_access');
  await own.stop();
  await own.asClaude(async (client) => {
    const { error } = await callTool(client, 'cadre_process_status');
    expect(error).toMatchObject({ code: 'backend_unavailable' });
    expect(error.message).toMatch(/no cadre server is.*cadre serve/);
    expect((await client.listTools()).tools).toHaveLength(4);
    await own.serve();
    const { result } = await callTool(client, 'cadre_process_run', run('echo 1'));
    expect(result.stdout_tail).toBe('1\n');
    await own.stop();
    expect((await callTool(client, 'cadre_process_status')).error.code).toBe('backend_unavailable');
    await own.serve();
    expect((await callTool(client, 'cadre_process_status')).ok).toBe(true);
  });
  expect((await own.cadre('mcp', 'list')).stdout).toMatch(/^claude\t/m);
});

test('The tools run as the session that --session names, with its permissions.', async () => {
  const own = home();
  const { client, directory } = await own.serve();
  const body = { provider: 'acp' as const, cwd: directory, permission_mode: 'read_only' };
  const { id } = await client.call(endpoints.createSession, { body });
  await client.call(endpoints.createTeam, { body: { name: 'one', lead_agent_id: id } });
  await own.cadre('mcp', 'install', 'claude', '--session', id.slice(-8));
  await own.asClaude(async (tools) => {
    expect((await tools.listTools()).tools).toHaveLength(7);
    expect((await callTool(tools, 'cadre_team_status')).ok).toBe(true);
    const { error } = await callTool(tools, 'cadre_process_run', run('true'));
    expect(error.message).toContain('read_only');
  });
});

test('All paths are absolute, whether a flag or a variable names the data directory.', async () => {
  const own = home();
  const cwd = path.join(own.path, 'work');
  fs.mkdirSync(cwd);
  const named = [
    { flags: ['--data-dir', '../data'], env: {} },
    { flags: [], env: { CADRE_DATA_ROOT_DIR: '../data' } },
  ];
  for (const name of ['claude', 'codex', 'opencode', 'gemini'])
    for (const { flags, env } of name === 'claude' ? named : named.slice(0, 1)) {
      const args = [...flags, 'mcp', 'install', name, '--print'];
      const { stdout } = await runCadre(own.path, args, { cwd, env });
      const words = stdout.split(/[\s",']+/);
      expect(words[words.indexOf('--data-dir') + 1]).toBe(own.data);
      expect(
        words.filter((word) => /^\.{0,2}\w*\/|^\.\./.test(word) && !path.isAbsolute(word)),
      ).toEqual([]);
    }
});

test('A failed installation changes nothing.', async () => {
  const own = home();
  const { client } = await own.serve();
  fs.writeFileSync(path.join(own.path, 'broken'), '');
  const refused = await own.cadre('mcp', 'install', 'claude');
  expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining('mcp add')]);
  expect(refused.stderr).toMatch(/it is broken/);
  fs.rmSync(path.join(own.bin, 'claude'));
  const missing = await own.cadre('mcp', 'install', 'claude');
  expect([missing.code, missing.stderr]).toEqual([2, expect.stringContaining('PATH')]);
  const both = ['--session', 'fe7289aa', '--permission-mode', 'full_access'];
  const ambiguous = await own.cadre('mcp', 'install', 'claude', ...both);
  expect([ambiguous.code, ambiguous.stderr]).toEqual([2, expect.stringMatching(/--session/)]);
  expect(await client.call(endpoints.listTokens, {})).toEqual([]);
  expect(fs.readdirSync(path.join(own.data, 'callers'))).toEqual([]);
});

test('Only the entry of cadre changes: comments, other entries, permissions and links stay.', async () => {
  const own = home();
  await own.serve();
  const kept = path.join(own.path, 'dotfiles.jsonc');
  const text = '{\n  // mine\n  "mcp": {\n    "other": {"type": "local"} // too\n  }\n}\n';
  fs.writeFileSync(kept, text, { mode: 0o640 });
  const directory = path.join(own.path, '.config', 'opencode');
  fs.mkdirSync(directory, { recursive: true });
  const file = path.join(directory, 'opencode.jsonc');
  fs.symlinkSync(kept, file);

  const printed = await own.cadre('mcp', 'install', 'opencode', '--print');
  expect(printed.stdout).toContain('// mine');
  expect(printed.stdout).toContain('"cadre"');
  expect(fs.readFileSync(file, 'utf8')).toBe(text);
  const made = await own.cadre('mcp', 'install', 'opencode', '--json');
  expect(made.json()).toMatchObject({ file });
  const after = fs.readFileSync(kept, 'utf8');
  expect(after).toContain('"other": {"type": "local"} // too');
  expect(after).toMatch(/"command": \[\s*"[^"]*node/);
  expect(after).not.toMatch(/cadre_[\w-]{43}/);
  expect(fs.lstatSync(file).isSymbolicLink()).toBe(true);
  expect(fs.statSync(kept).mode & 0o777).toBe(0o640);
  await own.cadre('mcp', 'uninstall', 'opencode');
  expect(fs.readFileSync(kept, 'utf8')).toBe(text);
});

test('An install that cannot replace the configuration of an agent leaves no other file beside it.', async () => {
  const own = home();
  await own.serve();
  const file = path.join(own.path, '.config', 'opencode', 'opencode.json');
  fs.mkdirSync(path.dirname(file), { recursive: true });
  fs.writeFileSync(file, '{}\n');
  const { renameSync } = fs;
  vi.spyOn(fs, 'renameSync').mockImplementation((from, to) => {
    if (to === file) throw Object.assign(new Error('disk is full'), { code: 'ENOSPC' });
    renameSync(from, to);
  });
  expect((await own.cadre('mcp', 'install', 'opencode')).code).toBe(1);
  expect(fs.readdirSync(path.dirname(file))).toEqual(['opencode.json']);
  expect(fs.readFileSync(file, 'utf8')).toBe('{}\n');
});

test('An unreadable file is refused with its name and line, and no token is created.', async () => {
  const own = home();
  const { client } = await own.serve();
  const file = path.join(own.path, '.config', 'opencode', 'opencode.json');
  fs.mkdirSync(path.dirname(file), { recursive: true });
  fs.writeFileSync(file, '{\n  "mcp": nonsense here\n}\n');
  const refused = await own.cadre('mcp', 'install', 'opencode');
  expect(refused.code).toBe(2);
  expect(refused.stderr).toContain(`${file}: line 2`);
  expect(await client.call(endpoints.listTokens, {})).toEqual([]);
  expect(fs.readFileSync(file, 'utf8')).toContain('nonsense');
});
