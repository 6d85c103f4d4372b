import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { parse } from 'smol-toml';
import { expect, test } from 'vitest';
import { endpoints } from '../../src/api/index.ts';
import type { ProviderId } from '../../src/api/provider-kinds.ts';
import { runTurn } from '../support/turns.ts';
import { claudeConfig } from './claude-env.ts';
import { codexConfig } from './codex-env.ts';
import { type AgentServer, onServer } from './on-server.ts';
import { opencodeConfig } from './opencode-config.ts';

interface Program {
  command: string;
  args: string[];
  env: Record<string, string>;
}

/** Returns a function that runs the agent's own program with the configuration of the server. */
function programOf(
  config: string,
  provider: ProviderId,
  { work }: AgentServer,
  argsOf = (args: string[]) => args,
) {
  const { providers } = parse(config) as unknown as { providers: Record<string, Program> };
  const { command, args, env } = providers[provider] as Program;
  const run = promisify(execFile);
  return async (...more: string[]) => {
    const running = run(command, [...argsOf(args), ...more], {
      cwd: work,
      env: { PATH: process.env.PATH, ...env },
    });
    running.child.stdin?.end();
    return (await running).stdout;
  };
}

/** Imports the only conversation, continues it in both programs, and returns the prompts of the past turns. */
async function hop(
  { client, work, model }: AgentServer,
  provider: ProviderId,
  runOwn: (prompt: string, ref?: string) => Promise<string>,
): Promise<string[]> {
  await runOwn('@@say:swallow');
  // opencode lists the conversations of one directory only.
  const list = { params: { provider }, query: { cwd: work } };
  const [found] = await client.call(endpoints.listConversations, list);
  expect(found).toMatchObject({ cwd: work, in_use: null, session_id: null });
  const ref = found?.ref ?? '';
  const { id } = await client.call(endpoints.createSession, {
    body: { provider, import: { ref } },
  });
  const said = async (prompt: string) => {
    expect((await runTurn(client, id, prompt)).turn).toMatchObject({ status: 'completed' });
    return JSON.stringify(model.requests.at(-1));
  };
  expect(await said('@@say:heron')).toBeDefined();
  const params = { session_id: id };
  const handBack = () => client.call(endpoints.handBackSession, { params, body: {} });
  expect(await handBack()).toMatchObject({ ref, cwd: work });
  // Codex keeps the lock of a thread a moment longer.
  await expect.poll(() => runOwn('@@say:plover', ref), { timeout: 30_000 }).toContain('plover');
  await said('@@say:gull');
  await handBack();
  await expect.poll(() => runOwn('@@say:dunlin', ref), { timeout: 30_000 }).toContain('dunlin');
  await said('@@say:wren');
  const past = await client.call(endpoints.listPastTurns, { params, query: {} });
  const turns = await client.call(endpoints.listTurns, { params, query: {} });
  expect(turns.map(({ text }) => text)).toEqual(['wren', 'gull', 'heron']);
  return past.toReversed().map(({ prompt, items }) => `${prompt} ${items.at(-1)?.text}`);
}

const OWN = ['@@say:swallow swallow', '@@say:plover plover', '@@say:dunlin dunlin'];

test('A conversation of Claude continues in cadre and in its own program, and each turn is stored once.', async () => {
  let config = '';
  const configure = (home: string, { url }: { url: string }) =>
    (config = claudeConfig({ home, modelUrl: url }));
  await onServer(configure, async (server) => {
    const run = programOf(config, 'claude', server);
    const own = (prompt: string, ref?: string) =>
      run('-p', ...(ref === undefined ? [] : [`--resume=${ref}`]), prompt);
    expect(await hop(server, 'claude', own)).toEqual(OWN);
  });
});

test('A conversation of Codex continues in cadre and in its own program, and each turn is stored once.', async () => {
  let config = '';
  const configure = (home: string, { url }: { url: string }) =>
    (config = codexConfig({ home, modelUrl: url }));
  await onServer(configure, async (server) => {
    const run = programOf(config, 'codex', server);
    const own = (prompt: string, ref?: string) =>
      run('exec', '--skip-git-repo-check', ...(ref === undefined ? [] : ['resume', ref]), prompt);
    expect(await hop(server, 'codex', own)).toEqual(OWN);
  });
});

test('A conversation of opencode continues in cadre and in its own program, and each turn is stored once.', async () => {
  let config = '';
  const configure = (home: string, model: { url: string }) =>
    (config = opencodeConfig(home, model, 'allow'));
  await onServer(configure, async (server) => {
    const run = programOf(config, 'acp', server, (args) => args.filter((one) => one !== 'acp'));
    const own = (prompt: string, ref?: string) =>
      run('run', ...(ref === undefined ? [] : ['--session', ref]), prompt);
    expect(await hop(server, 'acp', own)).toEqual(OWN);
  });
});

test('A conversation that Claude no longer has fails the turn, and no other transcript is begun.', async () => {
  const configure = (home: string, { url }: { url: string }) =>
    claudeConfig({ home, modelUrl: url });
  await onServer(configure, async ({ client, work, home }) => {
    const { mkdirSync, readdirSync, rmSync, writeFileSync } = await import('node:fs');
    const ref = 'e1d1bd2a-7c07-4000-8000-000000000000';
    const project = `${home}/claude/projects/one`;
    mkdirSync(project, { recursive: true });
    const row = { type: 'user', uuid: 'u', cwd: work, message: { content: 'gone' } };
    writeFileSync(`${project}/${ref}.jsonl`, `${JSON.stringify(row)}\n`);
    const body = { provider: 'claude' as const, import: { ref } };
    const { id } = await client.call(endpoints.createSession, { body });
    rmSync(`${project}/${ref}.jsonl`);
    expect((await runTurn(client, id, '@@say:x')).turn.error?.code).toBe('resume_failed');
    expect(readdirSync(`${home}/claude/projects`)).toEqual(['one']);
  });
});
