import fs from 'node:fs';
import path from 'node:path';
import { expect, test, vi } from 'vitest';
import { cadreOn, completeHere, runCadre, runHere, testCadre } from '../../support/cli/cadre.ts';
import { testDemo } from '../../support/demo-server.ts';
import { pathWith, putProgram } from '../../support/providers/demo-agents.ts';
import { tempDirectory, testDirectory } from '../../support/temp.ts';

interface Discovered {
  name: string;
  installed: string | null;
  configured: boolean;
  next: string;
}

test('The command lists installed and configured agents with the next step, without a server.', async () => {
  await using home = tempDirectory();
  putProgram(home.path, 'gemini', 'exit 1');
  const config = path.join(home.path, 'config.toml');
  fs.writeFileSync(
    config,
    '[providers.acp.agents.mine]\ncommand = "no-such"\n' +
      '[providers.acp.agents.gemini]\nenabled = false\n',
  );
  const env = { PATH: `${home.path}:${process.env.PATH}`, CADRE_CONFIG: config };
  const ended = await runCadre(home.path, ['providers', 'discover', '--json'], { env });
  expect(ended.code).toBe(0);
  const all = Object.fromEntries((ended.json() as Discovered[]).map((one) => [one.name, one]));
  expect(all.gemini).toMatchObject({
    installed: path.join(home.path, 'gemini'),
    configured: true,
    next: 'set providers.acp.agents.gemini.enabled to true',
  });
  expect(all.mine).toMatchObject({ installed: null, configured: true });
  expect(all.mine?.next).toContain('"no-such" not found on PATH');
  expect(all.kimi).toMatchObject({ installed: null, configured: false });
  const shown = await runHere(home.path, ['providers', 'discover', '--padded'], { env });
  expect(shown.stdout).toMatch(
    /^AGENT +INSTALLED +CONFIGURED +LOGGED IN +NEXT\ngemini .*\nmine .*\n/,
  );
  expect(shown.stdout).toMatch(/\nnot installed: .*kimi.* \(--all shows how to install them\)\n$/);
});

test('The command counts an agent with any section as configured, and a provider without one as not.', async () => {
  await using home = tempDirectory();
  const config = path.join(home.path, 'config.toml');
  const configured = async (text: string, env: Record<string, string> = {}) => {
    fs.writeFileSync(config, text);
    const args = ['providers', 'discover', '--json', '--config', config];
    const found = (await runHere(home.path, args, { env })).json() as Discovered[];
    return found.filter((one) => one.configured).map(({ name }) => name);
  };
  expect(
    await configured('[providers.claude]\ncommand = "claude"\n[providers.codex.env]\nA = "b"\n'),
  ).toEqual(expect.arrayContaining(['claude', 'codex']));
  expect(await configured('[providers.codex]\n')).toEqual(['codex']);
  expect(await configured('[log]\nlevel = "info"\n')).toEqual([]);
  const env = { CADRE_PROVIDERS_CLAUDE_COMMAND: 'claude' };
  expect(await configured('[log]\nlevel = "info"\n', env)).toEqual(['claude']);
});

test('The next step of an installed agent is a run, or a restart of a server with another PATH.', async () => {
  const home = testDirectory();
  const env = { PATH: pathWith(home, 'gemini') };
  const alone = await runCadre(home, ['providers', 'discover', '--json'], { env });
  const nextOf = (found: unknown) =>
    (found as Discovered[]).find(({ name }) => name === 'gemini')?.next;
  expect(nextOf(alone.json())).toBe('cadre run --agent gemini "…"');
  const server = await testDemo();
  const ended = await cadreOn(server)(['providers', 'discover', '--json'], { env });
  expect(nextOf(ended.json())).toMatch(/^restart the server: /);
});

test('The option --agent names an agent without --provider, and completes the names.', async () => {
  const home = testDirectory();
  vi.stubEnv('PATH', pathWith(home, 'gemini', 'opencode'));
  const { server, cadre } = await testCadre();
  const run = await cadre(['run', '--agent', 'gemini', '--json', 'say hi']);
  expect([run.code, run.stderr]).toEqual([0, '']);
  const created = await cadre(['sessions', 'create', '--agent', 'opencode', '--json']);
  expect(created.json()).toMatchObject({ provider: 'acp', agent: 'opencode' });
  const listed = await cadre(['sessions', 'list', '--json']);
  const agents = (listed.json() as { agent: string }[]).map(({ agent }) => agent);
  expect(agents).toEqual(['opencode', 'gemini']);
  expect((await cadre(['sessions', 'list'])).stdout).toMatch(/^\w+\tgemini\tready/m);
  const byDefault = await cadre(['sessions', 'create', '--json'], {
    env: { CADRE_DEFAULTS_AGENT: 'opencode' },
  });
  expect(byDefault.json()).toMatchObject({ provider: 'acp', agent: 'opencode' });
  const { directory } = server;
  const words = await completeHere(directory, ['--data-dir', directory, 'run', '--agent', '']);
  const names = words.stdout.split('\n').map((line) => line.split('\t')[0]);
  expect(names).toEqual(expect.arrayContaining(['default', 'gemini', 'opencode']));
  const table = await cadre(['providers', 'list']);
  expect(table.stdout).toMatch(/^acp\tAgent Client Protocol\tyes/m);
  expect(table.stdout).toMatch(/^gemini\tGemini CLI\tyes/m);
  const wrong = await cadre(['run', '--agent', 'nobody', 'say hi']);
  expect([wrong.code, wrong.stderr]).toEqual([
    2,
    expect.stringMatching(/unknown agent "nobody": choose from .*gemini/),
  ]);
  const provider = await cadre(['run', '--agent', 'claude', 'say hi']);
  expect([provider.code, provider.stderr]).toEqual([
    2,
    expect.stringContaining('set the field "provider" to "claude"'),
  ]);
  const earlier = await cadre(['run', '-c', '--agent', 'gemini', 'say hi']);
  expect(earlier.stderr).toContain('--agent applies only to a new session');
});
