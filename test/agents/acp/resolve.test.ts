import { expect, test } from 'vitest';
import { configSchema } from '../../../src/core/config/schema.ts';
import { environmentOf, ownCommand } from '../../../src/agents/acp/agent-kind.ts';
import { catalogue } from '../../../src/agents/acp/catalogue.ts';
import { recognise, resolveAgents } from '../../../src/agents/acp/resolve.ts';
import { AcpProvider } from '../../../src/agents/acp/provider.ts';
import type { ProviderContext } from '../../../src/agents/provider.ts';

const settingsOf = (acp: object | null) => configSchema.parse({ providers: { acp } }).providers.acp;

/** Resolves an agent with a section `[providers.acp]`. */
function agent(name: string, acp: object | null, from: NodeJS.ProcessEnv = {}) {
  const found = resolveAgents(settingsOf(acp), from).find((one) => one.name === name);
  if (!found) throw new Error(`there is no agent ${name}`);
  return found;
}

const gemini = catalogue.find(({ name }) => name === 'gemini');

test('A catalogue agent has the values of the catalogue if its section is empty or missing.', () => {
  const { command, args, modes, asks } = gemini ?? {};
  for (const acp of [null, { agents: { gemini: {} } }])
    expect(agent('gemini', acp)).toMatchObject({ command, args, modes, asks });
});

test('A section overrides single keys and single modes of a catalogue agent.', () => {
  const section = { command: '/opt/gemini', modes: { read_only: 'look' }, request_timeout_ms: 7 };
  expect(agent('gemini', { agents: { gemini: section } })).toMatchObject({
    command: '/opt/gemini',
    args: gemini?.args,
    modes: { ...gemini?.modes, read_only: 'look' },
    requestTimeoutMs: 7,
    passEnv: gemini?.pass_env,
  });
  const own = { asks: false, pass_env: ['A'], args: [], auth_method: '' };
  expect(agent('gemini', { agents: { gemini: own } })).toMatchObject({
    asks: false,
    passEnv: ['A'],
    args: [],
    authMethod: '',
  });
});

test('A catalogue agent can be configured again under another name with the same command.', () => {
  const agents = { work: { command: 'gemini', home: '/home/work' } };
  expect(agent('work', { agents })).toMatchObject({
    args: gemini?.args,
    modes: gemini?.modes,
    home: '/home/work',
    homeVariables: gemini?.home,
  });
});

test('A catalogue agent logs in with the method whose variable is set.', () => {
  expect(agent('gemini', null).authMethod).toBeNull();
  expect(agent('gemini', null, { GEMINI_API_KEY: 'k' }).authMethod).toBe('gemini-api-key');
  const env = { GEMINI_API_KEY: 'k' };
  expect(agent('gemini', { agents: { gemini: { env } } }).authMethod).toBe('gemini-api-key');
});

test('A catalogue agent receives its own keys, its home and the variables of its section only.', () => {
  const from = { PATH: '/bin', HOME: '/root', GEMINI_API_KEY: 'g', MISTRAL_API_KEY: 'm' };
  const agents = { gemini: { home: '/homes/gemini', env: { MORE: '1' } } };
  const environment = environmentOf(agent('gemini', { agents }, from), from);
  expect(environment).toMatchObject({
    PATH: '/bin',
    HOME: '/root',
    GEMINI_API_KEY: 'g',
    GEMINI_CLI_HOME: '/homes/gemini',
    MORE: '1',
  });
  expect(environment).not.toHaveProperty('MISTRAL_API_KEY');
});

test('The default agent has the values of the acp section and the traits of the agent with its command.', () => {
  const from = { GEMINI_API_KEY: 'g' };
  const found = agent('default', { command: 'gemini', args: ['--acp'], env: { A: '1' } }, from);
  expect(found).toMatchObject({ args: ['--acp'], env: { A: '1' }, passEnv: [], asks: true });
  expect(environmentOf(found, from)).not.toHaveProperty('GEMINI_API_KEY');
});

test('The default agent can have a home and modes in a section of its own.', () => {
  const own = { home: '/h', modes: { read_only: 'r' } };
  const found = agent('default', { command: 'agent', agents: { default: own } });
  expect(found).toMatchObject({ command: 'agent', home: '/h', modes: { read_only: 'r' } });
});

const own = { command: 'node', args: ['agent.js'], modes: { read_only: 'look' } };

test('An agent with a custom command is recognised by its reported name, and keeps its configuration.', () => {
  const found = agent('default', { command: 'node', agents: { default: own } });
  expect(found).toMatchObject({ asks: null, quirks: {}, modes: { read_only: 'look' } });
  recognise(found, 'gemini-cli');
  const gemini = catalogue.find(({ name }) => name === 'gemini');
  expect(found).toMatchObject({
    command: 'node',
    asks: true,
    quirks: gemini?.quirks,
    modes: { ...gemini?.modes, read_only: 'look' },
  });
});

test('An agent stays as configured if its reported name is unknown or its command is in the catalogue.', () => {
  const found = agent('mine', { agents: { mine: own } });
  recognise(found, 'nobody');
  expect(found).toMatchObject({ asks: null, modes: { read_only: 'look' } });
  const kimi = agent('kimi', null);
  recognise(kimi, 'gemini-cli');
  expect(kimi.quirks).toEqual(catalogue.find(({ name }) => name === 'kimi')?.quirks);
});

const provider = (acp: object | null) =>
  new AcpProvider(settingsOf(acp), {} as unknown as ProviderContext);
const sh = { command: 'sh' };

test.for<[acp: object | null, preferred: string | null, problem: RegExp | null]>([
  [null, null, /^not configured/],
  [{}, null, /^no command configured/],
  [{ command: 'sh' }, 'default', null],
  [{ command: 'sh', agents: { a: sh } }, 'default', null],
  [{ agents: { a: sh } }, 'a', null],
  [{ agents: { a: sh, b: { ...sh, enabled: false } } }, 'a', null],
  [{ agents: { a: sh, b: sh } }, null, /^several agents are configured: name one of a, b, or/],
  [{ default_agent: 'b', agents: { a: sh, b: sh } }, 'b', null],
  [{ command: 'sh', default_agent: 'a', agents: { a: sh } }, 'a', null],
  [{ default_agent: 'x' }, 'x', /^providers\.acp\.default_agent: unknown agent "x": choose from /],
  [{ agents: { a: {} } }, 'a', /^no command configured: set providers\.acp\.agents\.a\.command/],
])('The preferred agent of the configuration %j is %j.', ([acp, preferred, problem]) => {
  const found = provider(acp);
  expect(found.kinds.preferred).toBe(preferred);
  if (problem) expect(found.problem()).toMatch(problem);
  else expect(found.problem()).toBeNull();
});

test.for([
  ['opencode', 'opencode --session ses_1'],
  ['gemini', 'gemini --resume ses_1'],
  ['codex-acp', 'codex resume ses_1'],
  ['claude-agent-acp', 'claude --resume ses_1'],
  ['goose', 'goose session --resume --session-id ses_1'],
  ['qwen', 'qwen --resume ses_1'],
  ['kimi', 'kimi --session ses_1'],
  ['pi', 'pi --session ses_1'],
  ['vibe', ''],
  ['default', ''],
] as const)('The own program of %s continues a conversation with "%s".', ([name, command]) => {
  expect(ownCommand(agent(name, null), 'ses_1').join(' ')).toBe(command);
});

test('The command of the own program has the configured program and home, also if the agent is recognised later.', () => {
  const program = { command: '/opt/gemini', home: '/home/work' };
  const codex = { command: '/opt/codex-acp', home: '/home/work' };
  const custom = { command: '/opt/start', args: ['gemini'] };
  const agents = { gemini: program, 'codex-acp': codex, custom };
  expect(ownCommand(agent('gemini', { agents }), 'one')).toEqual([
    'env',
    'GEMINI_CLI_HOME=/home/work',
    '/opt/gemini',
    '--resume',
    'one',
  ]);
  expect(ownCommand(agent('codex-acp', { agents }), 'one')).toEqual([
    'env',
    'CODEX_HOME=/home/work',
    'codex',
    'resume',
    'one',
  ]);
  const unknown = agent('custom', { agents });
  expect(ownCommand(unknown, 'one')).toEqual([]);
  recognise(unknown, 'gemini-cli');
  expect(ownCommand(unknown, 'one')).toEqual(['gemini', '--resume', 'one']);
});

test('No command contains an id that could be an option or several words.', () => {
  for (const ref of ['--yolo', '-c', '', ' x', 'x y'])
    expect(ownCommand(agent('gemini', null), ref)).toEqual([]);
});
