import fs from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { dataDirectory, findConfig, loadConfig } from '../../../src/core/config/load.ts';
import { defaultDataDirectory } from '../../../src/core/config/paths.ts';
import { type Config, configSchema } from '../../../src/core/config/schema.ts';
import type { ConfigFlags } from '../../../src/core/config/sources.ts';
import { tempDirectory, testDirectory } from '../../support/temp.ts';

/** Loads the configuration with a file of this content at the default path. */
function load(toml: string | null, env: NodeJS.ProcessEnv = {}, flags: ConfigFlags = {}): Config {
  using home = tempDirectory('config');
  if (toml !== null) {
    fs.mkdirSync(path.join(home.path, 'cadre'));
    fs.writeFileSync(path.join(home.path, 'cadre', 'config.toml'), toml);
  }
  return loadConfig(flags, { XDG_CONFIG_HOME: home.path, ...env });
}

/** Returns the error message of a refused configuration. */
function refusal(
  toml: string | null,
  env: NodeJS.ProcessEnv = {},
  flags: ConfigFlags = {},
): string {
  try {
    load(toml, env, flags);
  } catch (error) {
    expect(error).toMatchObject({ name: 'AppError', code: 'invalid' });
    return (error as Error).message;
  }
  throw new Error('the configuration was taken');
}

/** The defaults of a provider whose agent the user has installed. */
const installed = { enabled: null, args: [], env: {}, pass_env: [], home: null, sandbox: null };

test('The defaults apply without a configuration file and without configured values.', () => {
  expect(load(null)).toEqual({
    public_base_url: null,
    servers: [],
    server: {
      bind_address: '127.0.0.1:7433',
      allowed_hosts: [],
      allowed_origins: [],
      drain_ms: 10_000,
      reattach_ms: 0,
      max_streams: 4096,
      max_connections: 8192,
      request_timeout_ms: 60_000,
      stop_after_idle_ms: null,
      max_streams_per_token: null,
    },
    client: { autostart: null, history: true, permission_mode: 'require_approval' },
    screen: { theme: 'auto', colors: {}, keys: {}, mouse: false, diff: 'auto' },
    log: { level: 'info' },
    defaults: { provider: null, agent: null, model: null, effort: null, permission_mode: null },
    auth: { token: null, token_file: null },
    data: { root_dir: null, durability: 'full' },
    retention: { max_bytes: 2_147_483_648, max_age_days: null, min_free_bytes: 268_435_456 },
    processes: {
      allow_shell: true,
      max_concurrent: 32,
      max_queued: 1000,
      max_per_session: 16,
      max_queued_per_session: 100,
      default_timeout_ms: 600_000,
      kill_grace_ms: 5000,
      max_output_bytes_per_process: 20_000_000,
      env_remove: [],
      env_pass: [],
    },
    sessions: { turn_timeout_ms: null, after_limit: 'resume' },
    sandbox: {
      mode: 'off',
      children: ['tools', 'init'],
      network: 'none',
      hosts: [],
      read: [],
      write: [],
      hide: [],
      nests: false,
      max_processes: 4096,
      auto_allow: false,
    },
    snapshots: { enabled: false, max_bytes: 1024 ** 3, max_age_days: 14 },
    approvals: {
      timeout_ms: null,
      notify_command: null,
      max_pending_per_session: 32,
      link_base_url: null,
      link_expires_ms: 3_600_000,
    },
    hooks: [],
    gateway: { free: [] },
    teams: {
      enabled: true,
      non_lead_can_add_members: false,
      non_lead_can_remove_members: false,
      max_hops: 1000,
      max_spawned_per_session: 16,
      model_presets: [],
    },
    worktrees: {
      root_dir: null,
      init_script_path: '.cadre/worktree-init.sh',
      deletion_policy_default: 'delete_on_last_claim',
      port_first: 20_000,
      port_last: 29_999,
      port_block: 20,
    },
    fleet: {
      url: null,
      name: null,
      fleet: 'default',
      credentials: null,
      tls: { ca: null, cert: null, key: null },
      labels: [],
      mirror: true,
      person: { name: null, credentials: null, scope: 'admin' },
    },
    providers: {
      idle_timeout_ms: 900_000,
      max_live: 32,
      acp: null,
      codex: { ...installed, command: 'codex' },
      claude: { ...installed, command: 'claude' },
    },
  });
  expect(load('')).toEqual(configSchema.parse({}));
});

test('The defaults of the acp provider apply once its section exists.', () => {
  expect(load('[providers.acp]').providers.acp).toEqual({
    enabled: true,
    command: null,
    args: [],
    env: {},
    transport: 'stdio',
    sandbox: null,
    request_timeout_ms: 120_000,
    default_agent: null,
    agents: {},
  });
});

test('An agent of the catalogue needs no key, and an agent keeps the keys that are set.', () => {
  const toml =
    '[providers.acp]\ndefault_agent = "gemini"\n[providers.acp.agents.gemini]\n' +
    '[providers.acp.agents.mine]\ncommand = "./mine"\nargs = ["acp"]\nmodes = { read_only = "look" }\n';
  const { default_agent, agents } = load(toml).providers.acp ?? {};
  expect(default_agent).toBe('gemini');
  expect(agents?.gemini).toEqual({
    enabled: true,
    command: null,
    args: null,
    env: {},
    home: null,
    request_timeout_ms: null,
    auth_method: null,
    pass_env: null,
    modes: {},
    asks: null,
    sandbox: null,
  });
  expect(agents?.mine).toMatchObject({
    command: './mine',
    args: ['acp'],
    modes: { read_only: 'look' },
  });
});

test('Agents in the environment are a JSON object, which replaces the agents of the file.', () => {
  const env = { CADRE_PROVIDERS_ACP_AGENTS: '{"mine":{"command":"m"}}' };
  const toml = '[providers.acp.agents.gemini]\n';
  expect(Object.keys(load(toml, env).providers.acp?.agents ?? {})).toEqual(['mine']);
});

test.for([
  ['[providers.acp.agents.gemini]\ncomand = "x"', 'did you mean "command"?'],
  ['[providers.acp.agents.gemini.modes]\nread_onyl = "x"', 'did you mean "read_only"?'],
  ['[providers.acp.agents."a b"]\n', 'must have 1 to 64 letters, digits'],
  ['[providers.acp]\ndefault_agent = "a/b"', 'providers.acp.default_agent: '],
  ['[defaults]\nagent = ""', 'defaults.agent: '],
] as const)('A wrong agent is refused: %j.', ([toml, message]) => {
  expect(refusal(toml)).toContain(message);
});

const claude = { CADRE_DEFAULTS_PROVIDER: 'claude' };
const both = '[defaults]\nprovider = "claude"\nagent = "gemini"\n';

test('A default agent of acp with another default provider is refused with its line.', () => {
  expect(refusal(both)).toMatch(
    /defaults\.agent: "gemini" is an agent of acp, but defaults\.provider is "claude": leave one of them out \(line 3 of /,
  );
});

test('A default agent in a variable is refused if the file has another default provider.', () => {
  const env = { CADRE_DEFAULTS_AGENT: 'gemini' };
  expect(refusal('[defaults]\nprovider = "codex"\n', env)).toContain(
    'environment CADRE_DEFAULTS_AGENT',
  );
});

test.for([
  ['beside acp', '[defaults]\nprovider = "acp"\nagent = "gemini"\n', {}],
  ['where a variable chooses another provider', '[defaults]\nagent = "gemini"\n', claude],
  ['alone', '[defaults]\nagent = "gemini"\n', {}],
] as const)('The default agent is accepted %s.', ([, toml, env]) => {
  expect(load(toml, env).defaults.agent).toBe('gemini');
});

const file =
  '[server]\nbind_address = "127.0.0.1:1"\n[log]\nlevel = "warn"\n[data]\nroot_dir = "/file"';
const env = {
  CADRE_SERVER_BIND_ADDRESS: '127.0.0.1:2',
  CADRE_LOG_LEVEL: 'error',
  CADRE_DATA_ROOT_DIR: '/env',
};

test('The file takes precedence over the defaults, key by key.', () => {
  expect(load(file)).toMatchObject({
    server: { bind_address: '127.0.0.1:1', drain_ms: 10_000 },
    log: { level: 'warn' },
    data: { root_dir: '/file', durability: 'full' },
  });
});

test('The environment takes precedence over the file.', () => {
  expect(load(file, env)).toMatchObject({
    server: { bind_address: '127.0.0.1:2' },
    log: { level: 'error' },
    data: { root_dir: '/env' },
  });
});

test('Flags take precedence over the environment.', () => {
  const flags = { bind: '127.0.0.1:3', port: '4', logLevel: 'debug', dataDir: '/flag' };
  expect(load(file, env, flags)).toMatchObject({
    server: { bind_address: '127.0.0.1:3' },
    log: { level: 'debug' },
    data: { root_dir: '/flag' },
  });
});

test('Each key can be set in the environment with its type, and unknown variables are ignored.', () => {
  const env = {
    CADRE_SERVER_DRAIN_MS: '250',
    CADRE_PROVIDERS_ACP_COMMAND: 'agent',
    CADRE_PROVIDERS_ACP_ENABLED: 'false',
    CADRE_PUBLIC_BASE_URL: 'https://x.example',
    CADRE_AUTH_TOKEN: '0123456789abcdef',
    CADRE_URL: 'http://elsewhere',
    CADRE_TOKEN: 'not-the-config',
    CADRE_SERVER_NONSENSE: '1',
  };
  expect(load(null, env)).toMatchObject({
    server: { drain_ms: 250 },
    providers: { acp: { command: 'agent', enabled: false } },
    public_base_url: 'https://x.example',
    auth: { token: '0123456789abcdef' },
  });
});

test('--port is a port on the loopback address, and takes precedence over the environment.', () => {
  const env = { CADRE_SERVER_BIND_ADDRESS: '10.0.0.1:2' };
  expect(load(null, env, { port: '3' }).server.bind_address).toBe('127.0.0.1:3');
});

test.for<[text: string, list: string[]]>([
  ['a.lan', ['a.lan']],
  ['a.lan, b.lan ,', ['a.lan', 'b.lan']],
  ['[::1],a.lan', ['[::1]', 'a.lan']],
  ['["a,b", "c"]', ['a,b', 'c']],
  ['[]', []],
  ['', []],
])('A list in the environment has commas, or is a JSON array: %j.', ([text, list]) => {
  const file = '[server]\nallowed_hosts = ["file.lan"]';
  expect(load(file, { CADRE_SERVER_ALLOWED_HOSTS: text }).server.allowed_hosts).toEqual(list);
});

test.for([
  '[{"name":"fast","provider":"acp","model":"m"},{"name":"deep","provider":"codex"}]',
  '[{name = "fast", provider = "acp", model = "m"}, {name = "deep", provider = "codex"}]',
  " [ {name='fast',provider='acp',model='m'},{name='deep',provider='codex'} ] ",
])('A list of tables in the environment is an array of JSON or TOML: %j.', (text) => {
  const none = { thinking_effort: null, agent_mode: null };
  expect(load(null, { CADRE_TEAMS_MODEL_PRESETS: text }).teams.model_presets).toEqual([
    { name: 'fast', provider: 'acp', agent: null, model: 'm', ...none },
    { name: 'deep', provider: 'codex', agent: null, model: null, ...none },
  ]);
});

test.for(
  Object.entries<RegExp>({
    '[{"name":"fast"':
      /teams\.model_presets: has to be an array \(environment CADRE_TEAMS_MODEL_PRESETS\)/,
    fast: /teams\.model_presets\.0: has to be an object/,
    '[{"name":"fast"}]':
      /teams\.model_presets\.0\.provider: is required: one of "codex", "claude", "acp"/,
    '[{"name":1,"provider":"acp"}]': /teams\.model_presets\.0\.name: has to be a string/,
    '[]\n[server]\nport = 1': /teams\.model_presets: has to be an array/,
  }),
)('A wrong list of tables is refused with its key: %j.', ([text, fault]) => {
  expect(() => load(null, { CADRE_TEAMS_MODEL_PRESETS: text })).toThrow(fault);
});

test('A table in the environment is a JSON object, and a fraction is a number.', () => {
  const env = {
    CADRE_PROVIDERS_ACP_ENV: '{"A":"1"}',
    CADRE_PROVIDERS_ACP_ARGS: 'acp,--fast',
    CADRE_RETENTION_MAX_AGE_DAYS: '0.5',
  };
  expect(load(null, env)).toMatchObject({
    providers: { acp: { env: { A: '1' }, args: ['acp', '--fast'] } },
    retention: { max_age_days: 0.5 },
  });
});

test('--config takes precedence over CADRE_CONFIG, which takes precedence over the default path.', async () => {
  const write = (name: string, level: string) => {
    const file = path.join(testDirectory(), name);
    fs.writeFileSync(file, `[log]\nlevel = "${level}"`);
    return file;
  };
  const [flag, env] = [write('flag.toml', 'trace'), write('env.toml', 'fatal')];
  const usual = '[log]\nlevel = "warn"';
  expect(load(usual).log.level).toBe('warn');
  expect(load(usual, { CADRE_CONFIG: env }).log.level).toBe('fatal');
  expect(load(usual, { CADRE_CONFIG: env }, { config: flag }).log.level).toBe('trace');
});

test('The default path without XDG_CONFIG_HOME is ~/.config/cadre.', async () => {
  await using home = tempDirectory();
  fs.mkdirSync(path.join(home.path, '.config', 'cadre'), { recursive: true });
  fs.writeFileSync(
    path.join(home.path, '.config', 'cadre', 'config.toml'),
    '[log]\nlevel = "warn"',
  );
  expect(loadConfig({}, { HOME: home.path }).log.level).toBe('warn');
});

test.for([
  ['[server]\nbind_adress = "x"', 'unknown key "server.bind_adress"; did you mean "bind_address"?'],
  ['[serve]\n', 'unknown key "serve"; did you mean "server"?'],
  ['public_url = "x"', 'unknown key "public_url"; did you mean "public_base_url"?'],
  ['[providers.acp]\ncomand = "x"', 'unknown key "providers.acp.comand"; did you mean "command"?'],
  ['[providers.acpp]\n', 'unknown key "providers.acpp"; did you mean "acp"?'],
  ['[server]\nmax_live = 1', 'unknown key "server.max_live"; did you mean "providers.max_live"?'],
  ['[__proto__]\nlevel = 1', 'unknown key "__proto__"; known keys: public_base_url, server'],
] as const)('An unknown key is refused with the most similar key: %j.', ([toml, message]) => {
  expect(refusal(toml)).toContain(message);
  expect(refusal(toml)).toMatch(/config\.toml/);
});

test.for([
  ['[server]\ndrain_ms = "soon"', 'server.drain_ms'],
  ['[server]\ndrain_ms = -1', 'server.drain_ms'],
  [
    '[server]\nbind_address = "here"',
    'server.bind_address: has to be HOST:PORT, with a port from 0 to 65535',
  ],
  ['[server]\nbind_address = "localhost:70000"', 'server.bind_address: has to be HOST:PORT, with'],
  ['[log]\nlevel = "loud"', 'log.level'],
  ['[auth]\ntoken = "short"', 'auth.token'],
  ['[data]\ndurability = "maybe"', 'data.durability'],
  ['public_base_url = "nonsense"', 'public_base_url'],
  ['server = 1', 'server'],
] as const)('A wrong value is refused with its key: %j.', ([toml, place]) => {
  expect(refusal(toml)).toContain(place);
});

test.for<[name: string, text: string, place: string]>([
  ['CADRE_SERVER_DRAIN_MS', 'soon', 'server.drain_ms: '],
  ['CADRE_LOG_LEVEL', 'loud', 'log.level: '],
  ['CADRE_SERVER_ALLOWED_HOSTS', '["a"', 'server.allowed_hosts: '],
  ['CADRE_PROVIDERS_ACP_ENV', 'A=1', 'providers.acp.env: '],
])('A wrong value in the environment is refused with its key and variable: %s.', (wrong) => {
  const [name, text, place] = wrong;
  expect(refusal(null, { [name]: text })).toContain(`invalid configuration: ${place}`);
  expect(refusal(null, { [name]: text })).toContain(`(environment ${name})`);
});

test('A wrong value of a flag is refused with its key and flag.', () => {
  expect(refusal(null, {}, { bind: 'here' })).toMatch(
    /server\.bind_address: has to be HOST:PORT, with a port from 0 to 65535 \(flag --bind\)$/,
  );
  for (const port of ['web', '70000'])
    expect(refusal(null, {}, { port })).toContain('port from 0 to 65535 (flag --port)');
});

test('A mistake in the file is reported with its line.', () => {
  const toml = '# mine\n[server]\nallowed_hosts = [\n  "a",\n]\ndrain_ms = -1\n';
  expect(refusal(toml)).toMatch(/server\.drain_ms: .* \(line 6 of .*config\.toml\)$/);
  expect(refusal('[log]\nlevel = "warn"\n\n[serve]\n')).toMatch(/\(line 4 of /);
  expect(refusal('server.drain_ms = "soon"')).toMatch(/\(line 1 of /);
});

test('The first of several mistakes is reported, with the number of the others.', () => {
  const message = refusal('[server]\ndrain_ms = -1\nbind_adress = "x"\n[log]\nlevel = "loud"');
  expect(message).toMatch(
    /^invalid configuration: server\.drain_ms: .*; 2 more, see cadre config check$/,
  );
});

test('No error message contains a token.', () => {
  expect(refusal('[auth]\ntoken = "s3cret"')).not.toContain('s3cret');
  expect(refusal(null, { CADRE_AUTH_TOKEN: 's3cret' })).not.toContain('s3cret');
  expect(refusal('[auth]\ntoken = "s3cret-s3cret-s3cret\nx = 1')).not.toContain('s3cret');
});

test('A file that is not TOML is refused with its name and line.', () => {
  expect(refusal('[server]\n\nbind_address = \n')).toMatch(/config\.toml:3: /);
  expect(refusal('[log]\nlevel = "warn"\n[log]\n')).toMatch(/config\.toml:3: /);
});

test('A configuration file that is named but missing is refused.', () => {
  const missing = '/nowhere/config.toml';
  expect(refusal(null, {}, { config: missing })).toContain(missing);
  expect(refusal(null, { CADRE_CONFIG: missing })).toContain(missing);
});

const found = (toml: string, env: NodeJS.ProcessEnv = {}, flags: ConfigFlags = {}) => {
  using place = tempDirectory('config');
  const config = path.join(place.path, 'config.toml');
  fs.writeFileSync(config, toml);
  return { ...findConfig({ config, ...flags }, env), file: config };
};

test('The report has every problem of the file, the environment and the flags.', () => {
  const { problems } = found(
    '[server]\nbind_adress = "x"\nbnid = 1\n',
    { CADRE_LOG_LEVEL: 'loud' },
    { bind: 'here' },
  );
  expect(problems).toHaveLength(4);
  const all = problems.join('\n');
  for (const place of ['server.bind_adress', 'server.bnid', 'CADRE_LOG_LEVEL', '--bind'])
    expect(all).toContain(place);
});

test('The report has the problems of the environment even if the file cannot be read.', () => {
  const { problems } = found('[server\n', { CADRE_LOG_LEVEL: 'loud' });
  expect(problems).toEqual([
    expect.stringMatching(/config\.toml:1: /),
    expect.stringMatching(/^log\.level: /),
  ]);
});

test('The report has the origin of the value of each key.', () => {
  const toml = '[server]\ndrain_ms = 1\n[log]\nlevel = "warn"\n[providers.acp]\n';
  const { originOf, file } = found(toml, { CADRE_LOG_LEVEL: 'info' }, { bind: '127.0.0.1:1' });
  expect(originOf('server.drain_ms')).toBe(`file ${file}`);
  expect(originOf('log.level')).toBe('environment CADRE_LOG_LEVEL');
  expect(originOf('server.bind_address')).toBe('flag --bind');
  expect(originOf('data.durability')).toBe('default');
  expect(originOf('providers.acp.args')).toBe('default');
});

test('The data directory is the configured one, else $XDG_DATA_HOME/cadre, else ~/.local/share/cadre.', () => {
  const config = configSchema.parse({});
  expect(dataDirectory(configSchema.parse({ data: { root_dir: '/data' } }), {})).toBe('/data');
  expect(dataDirectory(config, { XDG_DATA_HOME: '/xdg' })).toBe('/xdg/cadre');
  expect(dataDirectory(config, { HOME: '/home/me' })).toBe('/home/me/.local/share/cadre');
  expect(defaultDataDirectory({ CADRE_DATA_ROOT_DIR: '/env', XDG_DATA_HOME: '/xdg' })).toBe('/env');
});

test('A relative data directory is resolved against the working directory.', () => {
  expect(dataDirectory(configSchema.parse({ data: { root_dir: 'here' } }), {})).toBe(
    path.resolve('here'),
  );
});

test('An unknown tool in gateway.free is refused with the most similar tool.', () => {
  expect(load('[gateway]\nfree = ["cadre_process_run"]').gateway.free).toEqual([
    'cadre_process_run',
  ]);
  expect(load(null, { CADRE_GATEWAY_FREE: 'cadre_process_run,cadre_team_manage' })).toMatchObject({
    gateway: { free: ['cadre_process_run', 'cadre_team_manage'] },
  });
  for (const wrong of ['cadre_proces_run', 'cadre_process_runs', 'cadre-process-run'])
    expect(refusal(`[gateway]\nfree = ["cadre_team_manage", "${wrong}"]`)).toMatch(
      new RegExp(
        `^invalid configuration: gateway.free.1: "${wrong}" is not a tool; did you mean "cadre_process_run"\\?`,
      ),
    );
});

const listed = (...servers: string[]) => servers.map((lines) => `[[servers]]\n${lines}\n`).join('');
const [one, two] = ['url = "http://127.0.0.1:7501"', 'url = "http://127.0.0.1:7502"'];

test('A server or a name that is listed twice is refused.', () => {
  const servers = listed(`name = "a"\n${one}`, `name = "b"\n${two}`, 'name = "c"');
  expect(load(servers).servers.map(({ name }) => name)).toEqual(['a', 'b', 'c']);
  for (const twice of [
    listed(`name = "a"\n${one}`, 'name = "b"\nurl = "http://127.0.0.1:7501/"'),
    listed('name = "a"', 'name = "b"'),
  ])
    expect(refusal(twice)).toMatch(/servers: contains a server twice/);
  expect(refusal(listed(`name = "a"\n${one}`, `name = "a"\n${two}`))).toMatch(/a name twice/);
});

test('An unknown key of a server is refused with the key that was probably meant.', () => {
  expect(refusal(listed('name = "a"\ntoken = "secret"'))).toMatch(/mean "token_file"/);
  expect(refusal(listed('name = "a"\nur = "x"'))).toMatch(/mean "url"/);
});

test.for([
  ['https://box.example', true],
  ['https://Box.example:443/', true],
  ['http://[::1]:80', true],
  ['https://box.example/path', false],
  ['https://ada@box.example', false],
  ['https://box.example?', false],
  ['ftp://box.example', false],
  ['box.example', false],
] as const)('The base %s of links is valid: %s.', ([base, isValid]) => {
  const parsed = configSchema.safeParse({ approvals: { link_base_url: base } });
  expect(parsed.success).toBe(isValid);
});

test('Paths with ~ are in the home directory, relative ones of a file beside it, others in the working directory.', () => {
  using home = tempDirectory('config');
  const config = path.join(home.path, 'other.toml');
  fs.writeFileSync(
    config,
    '[data]\nroot_dir = "~/data"\n[auth]\ntoken_file = "token"\n[worktrees]\nroot_dir = "trees"\n' +
      '[providers.codex]\ncommand = "~/bin/codex"\nhome = "~"\n' +
      '[providers.acp.agents.mine]\ncommand = "~/bin/mine"\nhome = "mine"\n',
  );
  const HOME = '/home/ada';
  const { auth, data, worktrees, providers } = loadConfig({ config }, { HOME });
  expect(data.root_dir).toBe('/home/ada/data');
  expect(auth.token_file).toBe(path.join(home.path, 'token'));
  expect(worktrees.root_dir).toBe(path.join(home.path, 'trees'));
  expect(providers.codex).toMatchObject({ command: '/home/ada/bin/codex', home: HOME });
  expect(providers.claude).toMatchObject({ command: 'claude', home: null });
  expect(providers.acp?.agents).toMatchObject({
    mine: { command: '/home/ada/bin/mine', home: path.join(home.path, 'mine') },
  });
  const env = { HOME, CADRE_WORKTREES_ROOT_DIR: 'here', CADRE_AUTH_TOKEN_FILE: '~/token' };
  const given = loadConfig({ config, dataDir: 'data' }, env);
  expect(given.worktrees.root_dir).toBe(path.resolve('here'));
  expect(given.auth.token_file).toBe('/home/ada/token');
  expect(given.data.root_dir).toBe(path.resolve('data'));
});

test('Relative paths of servers and of the fleet are resolved against the configuration file.', () => {
  using home = tempDirectory('config');
  const config = path.join(home.path, 'other.toml');
  fs.writeFileSync(
    config,
    '[[servers]]\nname = "a"\ntoken_file = "a.token"\n' +
      '[fleet]\nurl = "tls://h"\nname = "n1"\ncredentials = "a.seed"\n[fleet.tls]\nca = "~/ca.pem"\ncert = "/etc/cert.pem"\n',
  );
  const { servers, fleet } = loadConfig({ config }, { HOME: '/home/ada' });
  expect(servers[0]?.token_file).toBe(path.join(home.path, 'a.token'));
  expect(fleet.credentials).toBe(path.join(home.path, 'a.seed'));
  expect(fleet.tls).toEqual({ ca: '/home/ada/ca.pem', cert: '/etc/cert.pem', key: null });
});

test.for(
  Object.entries<[text: string, refused: RegExp]>({
    'an address that is none of NATS': [
      'url = "http://h:1"\nname = "n"',
      /fleet\.url: "http:\/\/h:1" is not an address of NATS: expected nats:/,
    ],
    'one of several that is none': [
      'url = ["nats://h", "nats:"]\nname = "n"',
      /fleet\.url: "nats:" is not an address/,
    ],
    'no address': ['url = ","\nname = "n"', /fleet\.url: no NATS address is given: expected nats:/],
    'a name alone': [
      'name = "n"',
      /fleet\.name: fleet\.name is set without fleet\.url: set fleet\.url/,
    ],
    'an address alone': [
      'url = "nats://h"',
      /fleet\.url: fleet\.url is set, but neither fleet\.name nor \[fleet\.person\] is set: set fleet\.name .* or add \[fleet\.person\]/,
    ],
    'the key of a node without a name': [
      'url = "nats://h"\ncredentials = "a.nk"\n[fleet.person]\nname = "ada"',
      /fleet\.credentials: .*set fleet\.name to the name of this node, or use fleet\.person\.credentials/,
    ],
  }),
)('A fleet section with %s is refused with the change to make.', ([, [text, refused]]) => {
  expect(refusal(`[fleet]\n${text}\n`)).toMatch(refused);
});

test.for(['name = "n"', '[fleet.person]\nname = "ada"', '[fleet.person]\ncredentials = "a.nk"'])(
  'A fleet section with an address and %s is accepted.',
  (text) => {
    expect(load(`[fleet]\nurl = "nats://h:4222, tls://i"\n${text}\n`).fleet.url).not.toBeNull();
  },
);

test('Each problem of a file with many problems is reported with its line.', () => {
  const sections = 400;
  using home = tempDirectory('config');
  const file = path.join(home.path, 'config.toml');
  fs.writeFileSync(file, '[[servers]]\nname = """\na\n"""\nnothing = 1\n'.repeat(sections));
  const { problems } = findConfig({ config: file }, {});
  const unknown = problems.filter((problem) => problem.startsWith('unknown key'));
  expect(unknown.map((problem) => /line (\d+)/.exec(problem)?.[1])).toEqual(
    Array.from({ length: sections }, (_, at) => String(at * 5 + 5)),
  );
});

test('A table in the place of a name is refused with its content.', () => {
  expect(refusal('[sandbox]\nchildren = [{ toString = 1 }]\n')).toContain(
    '"{"toString":1}" is not a class of child processes',
  );
});

test('An empty variable counts as unset, except that an empty list is a list.', () => {
  const toml = '[server]\nallowed_hosts = ["box"]\ndrain_ms = 5\n[data]\nroot_dir = "/data"\n';
  const empty = {
    CADRE_CONFIG: '',
    CADRE_DATA_ROOT_DIR: '',
    CADRE_SERVER_DRAIN_MS: '',
    CADRE_SERVER_ALLOWED_HOSTS: '',
  };
  const { server, data } = load(toml, empty);
  expect([server.allowed_hosts, server.drain_ms, data.root_dir]).toEqual([[], 5, '/data']);
});

test('An empty data directory is refused, because it would be the current directory.', () => {
  expect(refusal(null, {}, { dataDir: '' })).toMatch(/data\.root_dir: .*flag --data-dir/);
});

test('No configuration file can exist below a file, so the defaults apply.', () => {
  const { config } = findConfig({}, { HOME: '/dev/null', XDG_CONFIG_HOME: '/dev/null' });
  expect(config?.log.level).toBe('info');
});
