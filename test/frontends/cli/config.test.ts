import fs from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { tempDirectory } from '../../support/temp.ts';
import { runCadre, runHere } from '../../support/cli/cadre.ts';

/** Writes a configuration to its default path below `home`. */
function configure(home: string, toml: string): string {
  const file = path.join(home, '.config', 'cadre', 'config.toml');
  fs.mkdirSync(path.dirname(file), { recursive: true });
  fs.writeFileSync(file, toml);
  return file;
}

type Row = { key: string; value: unknown; origin?: string };

test('The command shows every key with its value, and with --origin its source.', async () => {
  using home = tempDirectory();
  const file = configure(home.path, '[server]\nallowed_hosts = ["a.lan"]\n');
  const env = { CADRE_LOG_LEVEL: 'warn' };
  const data = path.join(home.path, 'data');
  const flags = ['--data-dir', data, 'config', 'show'];
  const plain = await runHere(home.path, [...flags, '--padded'], { env });
  expect([plain.code, plain.stderr]).toEqual([0, '']);
  expect(plain.stdout).toMatch(/^KEY +VALUE\n/);
  expect(plain.stdout).toMatch(/^server\.allowed_hosts +\["a\.lan"\]$/m);
  expect(plain.stdout).toMatch(/^server\.drain_ms +10000$/m);
  expect(plain.stdout).toMatch(/^approvals\.timeout_ms +-$/m);
  const shown = await runHere(home.path, [...flags, '--origin', '--json'], { env });
  const rows = shown.json() as Row[];
  expect(rows).toEqual(
    expect.arrayContaining([
      { key: 'server.allowed_hosts', value: ['a.lan'], origin: `file ${file}` },
      { key: 'log.level', value: 'warn', origin: 'environment CADRE_LOG_LEVEL' },
      { key: 'data.root_dir', value: data, origin: 'flag --data-dir' },
      { key: 'auth.token_file', value: path.join(data, 'auth', 'token'), origin: 'default' },
      { key: 'providers.acp', value: null, origin: 'default' },
    ]),
  );
  expect(fs.existsSync(data)).toBe(false);
});

test('Options may name the home directory as ~, which a shell leaves after =.', async () => {
  using home = tempDirectory();
  fs.writeFileSync(path.join(home.path, 'own.toml'), '[log]\nlevel = "warn"\n');
  const words = ['--data-dir=~/data', 'config', 'show', '--config=~/own.toml', '--json'];
  const { json } = await runHere(home.path, words);
  expect(json()).toEqual(
    expect.arrayContaining([
      { key: 'data.root_dir', value: path.join(home.path, 'data') },
      { key: 'log.level', value: 'warn' },
    ]),
  );
});

test('The command masks secrets.', async () => {
  using home = tempDirectory();
  const toml =
    '[auth]\ntoken = "a-token-of-my-own"\n[providers.acp.env]\nA_KEY = "hush"\nLANG = "C"\n';
  configure(home.path, toml);
  for (const more of [[], ['--json'], ['--origin']]) {
    const { stdout } = await runHere(home.path, ['config', 'show', ...more]);
    expect(stdout).not.toMatch(/a-token-of-my-own|hush/);
    expect(stdout.match(/\[secret\]/g)).toHaveLength(2);
    expect(stdout).toContain('LANG');
  }
});

test('The command refuses an invalid configuration with 2.', async () => {
  using home = tempDirectory();
  configure(home.path, '[log]\nlevel = "loud"\n');
  const { code, stdout, stderr } = await runHere(home.path, ['config', 'show']);
  expect([code, stdout]).toEqual([2, '']);
  expect(stderr).toMatch(/^cadre: invalid configuration: log\.level: [^\n]+\n$/);
});

test('A valid or missing configuration prints ok and ends with 0.', async () => {
  using home = tempDirectory();
  const none = await runHere(home.path, ['config', 'check']);
  expect([none.code, none.stdout, none.stderr]).toEqual([0, 'ok\n', '']);
  const file = path.join(home.path, 'mine.toml');
  fs.writeFileSync(file, '[log]\nlevel = "warn"\n');
  const json = await runHere(home.path, ['config', 'check', '--config', file, '--json']);
  expect(json.json()).toEqual({ ok: true, problems: [] });
});

test('Every problem is one line, and the exit code is 2.', async () => {
  using home = tempDirectory();
  const file = configure(home.path, '[server]\nbind_adress = "x"\ndrain_ms = -1\n');
  const env = { CADRE_LOG_LEVEL: 'loud' };
  const { code, stdout } = await runHere(home.path, ['config', 'check'], { env });
  expect(code).toBe(2);
  const lines = stdout.trimEnd().split('\n');
  expect(lines).toHaveLength(3);
  expect(lines).toEqual(
    expect.arrayContaining([
      `unknown key "server.bind_adress"; did you mean "bind_address"? (line 2 of ${file})`,
      expect.stringMatching(/^server\.drain_ms: .*\(line 3 of /),
      expect.stringMatching(/^log\.level: .*\(environment CADRE_LOG_LEVEL\)$/),
    ]),
  );
  const json = await runHere(home.path, ['--json', 'config', 'check'], { env });
  expect(json.code).toBe(2);
  expect(json.json()).toEqual({ ok: false, problems: expect.arrayContaining(lines) });
});

test('cadre config check reports unknown names of agents, with the known names.', async () => {
  using home = tempDirectory();
  const check = async (text: string) => {
    configure(home.path, text);
    return (await runHere(home.path, ['config', 'check'])).stdout.trimEnd().split('\n');
  };
  const own = '[providers.acp.agents.mine]\ncommand = "my-agent"\n[defaults]\nagent = "mine"\n';
  expect(await check(own)).toEqual(['ok']);
  const preset = '[[teams.model_presets]]\nname = "p"\nprovider = "acp"\nagent = "gemni"\n';
  expect(await check(`[providers.acp]\ndefault_agent = "nope"\n${own}${preset}`)).toEqual([
    expect.stringMatching(
      /^providers\.acp\.default_agent: unknown agent "nope": choose from .*mine.*gemini/,
    ),
    expect.stringMatching(/^teams\.model_presets\[0\]\.agent: unknown agent "gemni"/),
  ]);
});

test('An unknown event kind and an unreadable secret of a hook are reported.', async () => {
  using home = tempDirectory();
  configure(
    home.path,
    `[[hooks]]\nname = "typo"\nkinds = ["turn.complete"]\ncommand = "true"\n
[[hooks]]\nname = "phone"\nkinds = ["*"]\nurl = "https://box.example"\nsecret_file = "no.secret"\n
[[hooks]]\nname = "off"\nenabled = false\nkinds = ["turn.complete"]\ncommand = "true"\n`,
  );
  const { code, stdout } = await runHere(home.path, ['config', 'check']);
  expect([code, stdout.trimEnd().split('\n')]).toEqual([
    2,
    [
      'hook "typo": kinds: "turn.complete" matches no event kind',
      expect.stringMatching(/^hook "phone": secret_file: .*no\.secret does not exist$/),
    ],
  ]);
});

test('Invalid files of a fleet are reported, and cadre serve does not start with them.', async () => {
  using home = tempDirectory();
  const problems = async (text: string) => {
    const file = configure(home.path, `[fleet]\nurl = "tls://127.0.0.1:1"\n${text}\n`);
    const { stdout } = await runHere(home.path, ['config', 'check']);
    return { file, lines: stdout.trimEnd().split('\n') };
  };
  const missing = await problems('name = "n"\ncredentials = "n.nk"\ntls = { ca = "ca.pem" }');
  expect(missing.lines).toEqual([
    expect.stringMatching(/^fleet\.credentials: cannot read .*n\.nk/),
    expect.stringMatching(/^fleet\.tls\.ca: cannot read .*ca\.pem/),
  ]);
  const serve = await runHere(home.path, ['serve', '--data-dir', path.join(home.path, 'data')]);
  expect(serve).toMatchObject({ code: 2, stdout: '' });
  expect(serve.stderr).toMatch(/^cadre: invalid configuration: fleet\.credentials: cannot read /);
  const directory = path.dirname(missing.file);
  const seed = path.join(directory, 'n.nk');
  fs.writeFileSync(seed, `SU${'A'.repeat(56)}\n`, { mode: 0o644 });
  fs.writeFileSync(path.join(directory, 'ca.pem'), 'no certificate\n');
  const wrong = await problems('name = "n"\ncredentials = "n.nk"\ntls = { ca = "ca.pem" }');
  expect(wrong.lines).toEqual([
    expect.stringMatching(/is readable for other users: run chmod 600 on the file$/),
    expect.stringMatching(/is not in PEM/),
  ]);
  fs.writeFileSync(seed, 'no seed\n');
  fs.chmodSync(seed, 0o600);
  const person = await problems('person = { credentials = "n.nk" }');
  expect(person.lines).toEqual([
    expect.stringMatching(/^fleet\.person\.credentials: .* contains no seed/),
  ]);
});

test('The command prints the path of the file, and with --json whether the file exists.', async () => {
  using home = tempDirectory();
  const usual = path.join(home.path, '.config', 'cadre', 'config.toml');
  expect((await runHere(home.path, ['config', 'path'])).stdout).toBe(`${usual}\n`);
  const json = () => runHere(home.path, ['config', 'path', '--json']).then((ran) => ran.json());
  expect(await json()).toEqual({ path: usual, exists: false });
  configure(home.path, '');
  expect(await json()).toEqual({ path: usual, exists: true });
  const named = await runCadre(home.path, ['config', 'path', '--config', 'mine.toml']);
  expect(named.stdout).toBe(`${path.join(home.path, 'mine.toml')}\n`);
});

test.each([
  ['kodex', /^sessions\.after_limit: unknown agent "kodex": choose from .*codex/],
  ['claude', /^sessions\.after_limit: claude: disabled: set providers\.claude\.enabled to true/],
  ['codex', /^sessions\.after_limit: codex: command "no-such" not found on PATH: install codex/],
])('A handoff at usage limits to the unusable agent %s is a problem.', async (name, problem) => {
  using home = tempDirectory();
  const codex = '[providers.codex]\ncommand = "no-such"\n';
  const claude = '[providers.claude]\nenabled = false\n';
  configure(home.path, `[sessions]\nafter_limit = "handoff:${name}"\n${codex}${claude}`);
  const { code, stdout } = await runHere(home.path, ['config', 'check']);
  expect(code).toBe(2);
  expect(stdout).toMatch(problem);
});
