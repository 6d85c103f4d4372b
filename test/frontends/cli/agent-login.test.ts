import fs from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { endpoints } from '../../../src/api/index.ts';
import { cadreOn, runCadre, startCadre } from '../../support/cli/cadre.ts';
import { expectEventually } from '../../support/expect-eventually.ts';
import { openRuntime, type TestRuntime } from '../../support/runtime.ts';
import { untilNothingCarries } from '../../support/server.ts';
import { tempDirectory } from '../../support/temp.ts';

/** An agent with a login program that asks for a code. */
const program = `
const flag = process.env.HOME + '/logged-in';
const fs = require('node:fs');
const lines = require('node:readline').createInterface({ input: process.stdin });
const methods = [
  { id: 'tui', name: 'Sign in here', type: 'terminal', args: ['--login'], env: { OF_METHOD: 'yes' } },
  { id: 'browser', name: 'Browser \\u001b[31m' },
  { id: 'page', name: 'A page' },
  { id: 'env', name: 'A token', type: 'env_var', vars: [{ name: 'PLAYED_TOKEN' }] },
];
const agentCapabilities = { auth: { logout: {} } };
const answers = {
  initialize: () => ({ protocolVersion: 1, agentCapabilities, authMethods: methods }),
  authenticate: (params) => (fs.writeFileSync(flag, ''), params.methodId === 'page' ? null : {}),
  logout: () => (fs.rmSync(flag, { force: true }), {}),
  'session/new': () => fs.existsSync(flag) && { sessionId: 's' },
};
if (process.argv.includes('--login'))
  lines.once('line', (code) => {
    console.log('as told:', process.env.OF_METHOD, process.env.OF_AGENT);
    if (code === 'right') fs.writeFileSync(flag, '');
    process.exit(code === 'right' ? 0 : 3);
  });
let isAccepted = false;
// The login completes once the test has created a file, as if the page was opened.
function askForPage(id) {
  const url = 'https://login.invalid/code\\u001b[31m';
  const params = { mode: 'url', message: 'Sign in.', url, elicitationId: 'e1', requestId: id };
  console.log(JSON.stringify({ jsonrpc: '2.0', id: 'page', method: 'elicitation/create', params }));
  const opened = process.env.HOME + '/opened';
  const look = () => {
    if (!fs.existsSync(opened)) return setTimeout(look, 20);
    const error = { code: -32603, message: 'declined' };
    console.log(JSON.stringify({ jsonrpc: '2.0', id, ...(isAccepted ? { result: {} } : { error }) }));
  };
  look();
}
if (!process.argv.includes('--login'))
  lines.on('line', (line) => {
    const { id, method, params, result: said } = JSON.parse(line);
    if (method === undefined) {
      isAccepted = said.action === 'accept';
      return;
    }
    const result = answers[method]?.(params);
    if (result === null) return askForPage(id);
    const error = { code: -32000, message: 'Authentication required' };
    console.log(JSON.stringify({ jsonrpc: '2.0', id, ...(result ? { result } : { error }) }));
  });
`;

let own: ReturnType<typeof tempDirectory>;
let server: TestRuntime;
beforeAll(async () => {
  own = tempDirectory('agent-login');
  const script = path.join(own.path, 'played.cjs');
  const home = path.join(own.path, 'home');
  fs.writeFileSync(script, program);
  const command = { command: process.execPath, args: [script] };
  const played = { ...command, home, env: { OF_AGENT: 'yes' } };
  server = await openRuntime(own.path, {
    config: { providers: { acp: { agents: { played } } } },
  });
});
afterAll(async () => {
  await server.stop();
  await untilNothingCarries(own.path);
  await own[Symbol.asyncDispose]();
});
const ask = (...args: string[]) => cadreOn(server)(['providers', ...args]);
const status = async () => (await ask('auth', 'acp', '--agent', 'played', '--json')).json();

test('The login runs the program of a terminal method with the variables of the agent and the method.', async () => {
  const login = ['providers', 'login', 'acp', '--agent', 'played', '--method', 'tui'];
  // The login program uses the terminal of the command, so the command needs a separate process.
  const cadre = (args: string[], stdin: string) =>
    runCadre(own.path, ['--data-dir', own.path, ...args], { stdin });
  const wrong = await cadre(login, 'wrong\n');
  expect([wrong.code, wrong.stderr]).toEqual([1, expect.stringContaining('exited with code 3')]);
  expect(await status()).toMatchObject({ authenticated: null });
  const right = await cadre([...login, '--json'], 'right\n');
  expect([right.code, right.stderr]).toEqual([0, expect.stringContaining('as told: yes yes')]);
  expect(right.json()).toMatchObject({ authenticated: true, mode: 'agent_managed' });
  expect(await status()).toEqual(right.json());
  expect((await ask('logout', 'acp')).stdout).toMatch(/^authenticated +false$/m);
});

test('The login calls the method of the agent, and lists the methods if it cannot ask.', async () => {
  const several = await ask('login', 'acp');
  expect(several).toMatchObject({ code: 2, stdout: '' });
  expect(several.stderr).toMatch(/several login methods.*--method \(tui, browser, page, env\)/);
  const unknown = await ask('login', 'acp', '--method', 'nonsense');
  expect([unknown.code, unknown.stderr]).toEqual([2, expect.stringContaining('browser')]);
  const made = await ask('login', 'acp', '--method', 'browser', '--json');
  expect(made.json()).toMatchObject({ authenticated: true });
});

test('The login shows the page to open while it waits.', async () => {
  const method = ['--agent', 'played', '--method', 'page'];
  const login = ['--data-dir', own.path, 'providers', 'login', 'acp', ...method];
  const command = startCadre(own.path, login);
  await expectEventually(command.stderr).toContain('Sign in. Open https://login.invalid/code');
  fs.writeFileSync(path.join(own.path, 'home', 'opened'), '');
  const { code, stdout, stderr } = await command.ended;
  expect([code, stdout]).toEqual([0, expect.stringMatching(/^authenticated +true$/m)]);
  expect(stderr).not.toContain('\u001b');
  const params = { agent: 'played' };
  expect(await server.client.call(endpoints.listLoginPages, { params })).toEqual([]);
});

test('A login with a variable names the variable and the settings for it.', async () => {
  const { code, stderr } = await ask('login', 'acp', '--agent', 'played', '--method', 'env');
  expect(code).toBe(2);
  expect(stderr).toContain('PLAYED_TOKEN');
  expect(stderr).toContain('[providers.acp.agents.played.env]');
  expect(stderr).toContain('pass_env');
});

test('The options of an agent login are refused for other providers, and theirs for an agent.', async () => {
  const agent = await ask('login', 'claude', '--agent', 'x');
  expect([agent.code, agent.stderr]).toEqual([2, expect.stringContaining('--agent')]);
  const file = await ask('login', 'acp', '--auth-json', 'x');
  expect([file.code, file.stderr]).toEqual([2, expect.stringContaining('--auth-json')]);
});
