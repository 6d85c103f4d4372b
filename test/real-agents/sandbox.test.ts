import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse, stringify } from 'smol-toml';
import { describe, expect, test } from 'vitest';
import { endpoints } from '../../src/api/index.ts';
import { hasSandbox } from '../support/sandbox/available.ts';
import { startServer, type TestServer } from '../support/server.ts';
import { tempDirectory } from '../support/temp.ts';
import { ofKind, openSession, runTurn } from '../support/turns.ts';
import { git, makeRepository } from '../support/worktrees/work.ts';
import { bash } from './claude-fixture.ts';
import { claudeConfig } from './claude-env.ts';
import { shell } from './codex-fixture.ts';
import { codexConfig } from './codex-env.ts';
import { startModelServer } from './model-server.ts';

interface World {
  server: TestServer;
  data: string;
  repository: string;
}

type Configure = (place: { home: string; modelUrl: string }) => string;

/** Runs a test with a server whose agents run in a sandbox. */
async function withSandbox(
  configure: Configure,
  test: (world: World) => Promise<void>,
  network: 'none' | 'hosts' = 'hosts',
): Promise<void> {
  await using model = await startModelServer();
  await using directory = tempDirectory('sandboxed');
  const at = (name: string) => join(directory.path, name);
  for (const name of ['home', 'data']) mkdirSync(at(name));
  const repository = makeRepository(at('repository'));
  const config = stringify({
    ...parse(configure({ home: at('home'), modelUrl: model.url })),
    gateway: { free: ['cadre_process_run'] },
    sandbox: { mode: 'require', children: ['agents', 'tools', 'init'] },
  });
  const env = { CADRE_SANDBOX_NETWORK: network };
  const server = await startServer(at('data'), { config, env });
  try {
    await test({ server, data: at('data'), repository });
  } finally {
    await server.end('SIGTERM');
  }
}

const agents: {
  provider: 'claude' | 'codex';
  configure: Configure;
  say: (command: string) => string;
}[] = [
  {
    provider: 'claude',
    configure: ({ home, modelUrl }) => claudeConfig({ home, modelUrl, allow: ['Bash', 'Write'] }),
    say: (command) => bash(command, 'works'),
  },
  {
    provider: 'codex',
    // The configuration of codex names the address of the model, which cadre does not read.
    configure: (place) =>
      codexConfig({ ...place, more: { sandbox: { hosts: [new URL(place.modelUrl).host] } } }),
    say: shell,
  },
];

const IDENTITY =
  'GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b';

describe.skipIf(!hasSandbox).each(agents)(
  '$provider in a sandbox',
  ({ provider, configure, say }) => {
    test(`${provider} edits, runs and commits in a worktree, and sees neither the data directory nor other repositories.`, () =>
      withSandbox(configure, async ({ server: { client }, data, repository }) => {
        const session = await client.call(endpoints.createSession, {
          body: { provider, cwd: repository, worktree: { worktree_name: 'inside' } },
        });
        const run = async (command: string) => {
          const { turn, events } = await runTurn(client, session.id, say(command));
          expect(turn.error).toBeNull();
          const [tool] = ofKind(events, 'tool.completed');
          return String(tool?.payload.text);
        };
        await run(`echo new > made.txt && git add made.txt && ${IDENTITY} git commit -qm inside`);
        expect(git(session.cwd, 'log', '-1', '--format=%s')).toBe('inside');
        expect(readFileSync(join(session.cwd, 'made.txt'), 'utf8')).toBe('new\n');
        const attempts = [
          `cat ${data}/auth/token`,
          `cat ${repository}/a.txt`,
          `echo x > ${repository}/.git/config`,
          'git config user.x y',
          'exit 0',
        ];
        // As a script: Claude Code asks before it runs a command that names files outside of its directory.
        writeFileSync(
          join(session.cwd, 'attempts'),
          attempts.map((one) => `${one} 2>&1\n`).join(''),
        );
        const seen = await run('sh attempts');
        expect(seen.match(/No such file/g)).toHaveLength(2);
        expect(seen).toMatch(/Read-only/);
        expect(git(repository, 'config', '--list')).not.toContain('user.x');
      }));

    test(`${provider} calls the tools of cadre from its sandbox, and the process of the tool runs in a sandbox.`, () =>
      withSandbox(configure, async ({ server: { client }, repository }) => {
        const { id } = await openSession(client, repository, { provider });
        const call = { command: 'echo said > by-tool', wait_ms: 20_000 };
        const prompt = `@@tool:cadre_process_run:${JSON.stringify(call)}`;
        const { turn } = await runTurn(client, id, prompt);
        expect(turn.error).toBeNull();
        expect(readFileSync(join(repository, 'by-tool'), 'utf8')).toBe('said\n');
        const [process] = await client.call(endpoints.listProcesses, { query: { session_id: id } });
        expect(process).toMatchObject({ status: 'completed', sandbox: true });
      }));

    test(`A session of ${provider} with the mode read_only cannot write, and continues with write access in another mode.`, () =>
      withSandbox(configure, async ({ server: { client }, repository }) => {
        const session = await client.call(endpoints.createSession, {
          body: {
            provider,
            cwd: repository,
            worktree: { worktree_name: 'inside' },
            permission_mode: 'read_only',
          },
        });
        const file = join(session.cwd, 'made.txt');
        await runTurn(client, session.id, say('echo x > made.txt'));
        expect(existsSync(file)).toBe(false);
        await client.call(endpoints.updateSession, {
          params: { session_id: session.id },
          body: { permission_mode: null },
        });
        const { turn } = await runTurn(client, session.id, say('echo y > made.txt'));
        expect(turn.error).toBeNull();
        expect(existsSync(file)).toBe(true);
      }));

    test(`A session of ${provider} with network none reaches its model, and a command reaches nothing else.`, () =>
      withSandbox(
        configure,
        async ({ server: { client }, repository }) => {
          const session = await client.call(endpoints.createSession, {
            body: { provider, cwd: repository },
          });
          const command = 'curl -s -m 5 -w "%{http_code}" http://example.com/';
          const { turn, events } = await runTurn(client, session.id, say(command));
          expect(turn.error).toBeNull();
          const [tool] = ofKind(events, 'tool.completed');
          expect(String(tool?.payload.text)).toContain('does not reach example.com:80');
        },
        'none',
      ));
  },
);
