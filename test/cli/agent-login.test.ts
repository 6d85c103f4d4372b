import fs from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { cadreOn, runCadre } from '../support/cli/cadre.ts';
import { startServer, type TestServer, untilNothingCarries } from '../support/server.ts';
import { tempDirectory } from '../support/temp.ts';

/** An agent with a login program of its own, which asks for a code. */
const played = `
const flag = process.env.HOME + '/logged-in';
const fs = require('node:fs');
const lines = require('node:readline').createInterface({ input: process.stdin });
const methods = [
  { id: 'tui', name: 'Sign in here', type: 'terminal', args: ['--login'], env: { OF_METHOD: 'yes' } },
  { id: 'browser', name: 'Browser \\u001b[31m' },
  { id: 'env', name: 'A token', type: 'env_var', vars: [{ name: 'PLAYED_TOKEN' }] },
];
const agentCapabilities = { auth: { logout: {} } };
const answers = {
  initialize: () => ({ protocolVersion: 1, agentCapabilities, authMethods: methods }),
  authenticate: () => (fs.writeFileSync(flag, ''), {}),
  logout: () => (fs.rmSync(flag, { force: true }), {}),
  'session/new': () => fs.existsSync(flag) && { sessionId: 's' },
};
if (process.argv.includes('--login'))
  lines.once('line', (code) => {
    console.log('as told:', process.env.OF_METHOD, process.env.OF_AGENT);
    if (code === 'right') fs.writeFileSync(flag, '');
    process.exit(code === 'right' ? 0 : 3);
  });
else
  lines.on('line', (line) => {
    const { id, method } = JSON.parse(line);
    const result = answers[method]?.();
    const error = { code: -32000, message: 'Authentication required' };
    console.log(JSON.stringify({ jsonrpc: '2.0', id, ...(result ? { result } : { error }) }));
  });
`;

describe('cadre providers login acp', () => {
  let own: ReturnType<typeof tempDirectory>;
  let server: TestServer;
  beforeAll(async () => {
    own = tempDirectory('agent-login');
    const script = path.join(own.path, 'played.cjs');
    const home = path.join(own.path, 'home');
    fs.writeFileSync(script, played);
    const section = '[providers.acp.agents.played]';
    const start = `command = "${process.execPath}"\nargs = ["${script}"]\nhome = "${home}"\n`;
    const config = `${section}\n${start}env = { OF_AGENT = "yes" }\n`;
    server = await startServer(own.path, { config });
  });
  afterAll(async () => {
    await server.end('SIGKILL');
    await untilNothingCarries(own.path);
    await own[Symbol.asyncDispose]();
  });
  const ask = (...args: string[]) => cadreOn(server)(['providers', ...args]);
  const status = async () => (await ask('auth', 'acp', '--agent', 'played', '--json')).json();

  test('runs the login program of a terminal method with the environment of agent and method, and then knows.', async () => {
    const login = ['providers', 'login', 'acp', '--agent', 'played', '--method', 'tui'];
    // The login program has the terminal of the command, so the command needs a process of its own.
    const cadre = (args: string[], stdin: string) =>
      runCadre(own.path, ['--data-dir', own.path, ...args], { stdin });
    const wrong = await cadre(login, 'wrong\n');
    expect([wrong.code, wrong.stderr]).toEqual([1, expect.stringContaining('ended with 3')]);
    expect(await status()).toMatchObject({ authenticated: null });
    const right = await cadre([...login, '--json'], 'right\n');
    expect([right.code, right.stderr]).toEqual([0, expect.stringContaining('as told: yes yes')]);
    expect(right.json()).toMatchObject({ authenticated: true, mode: 'agent_managed' });
    expect(await status()).toEqual(right.json());
    expect((await ask('logout', 'acp')).stdout).toMatch(/^authenticated +false$/m);
  });

  test('calls the method of the agent, which it names where nobody can be asked.', async () => {
    const several = await ask('login', 'acp');
    expect(several).toMatchObject({ code: 2, stdout: '' });
    expect(several.stderr).toMatch(/several methods.*--method \(tui, browser, env\)/);
    const unknown = await ask('login', 'acp', '--method', 'nonsense');
    expect([unknown.code, unknown.stderr]).toEqual([2, expect.stringContaining('browser')]);
    const made = await ask('login', 'acp', '--method', 'browser', '--json');
    expect(made.json()).toMatchObject({ authenticated: true });
  });

  test('says which variable a method needs, and where it is set.', async () => {
    const { code, stderr } = await ask('login', 'acp', '--agent', 'played', '--method', 'env');
    expect(code).toBe(2);
    expect(stderr).toContain('PLAYED_TOKEN');
    expect(stderr).toContain('[providers.acp.agents.played.env]');
    expect(stderr).toContain('pass_env');
  });

  test('leaves the other providers as they are.', async () => {
    const agent = await ask('login', 'claude', '--agent', 'x');
    expect([agent.code, agent.stderr]).toEqual([2, expect.stringContaining('--agent')]);
    const file = await ask('login', 'acp', '--auth-json', 'x');
    expect([file.code, file.stderr]).toEqual([2, expect.stringContaining('--auth-json')]);
  });
});
