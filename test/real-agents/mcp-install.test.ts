import { execFile } from 'node:child_process';
import { mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { parse } from 'smol-toml';
import { describe, expect, test } from 'vitest';
import { endpoints } from '../../src/api/index.ts';
import { cadreOn } from '../support/cli/cadre.ts';
import { claudeConfig } from './claude-env.ts';
import { codexConfig } from './codex-env.ts';
import { agentStart } from './install.ts';
import type { ModelServer } from './model-server.ts';
import { onServer } from './on-server.ts';

const execute = promisify(execFile);

const agents = {
  claude: {
    config: (home: string, { url }: ModelServer) => claudeConfig({ home, modelUrl: url }),
    // It would have to search for the tools first.
    env: { ENABLE_TOOL_SEARCH: 'false' },
    ask: (prompt: string) => ['-p', prompt, '--allowedTools', 'mcp__cadre'],
  },
  codex: {
    config: (home: string, { url }: ModelServer) => codexConfig({ home, modelUrl: url }),
    env: {},
    // It would not wait for a server that starts slowly.
    ask: (prompt: string) => [
      'exec',
      '--skip-git-repo-check',
      '-c',
      'mcp_servers.cadre.required=true',
      prompt,
    ],
  },
} as const;

describe.for(['claude', 'codex'] as const)('the real %s, outside of cadre', (name) => {
  const { config, env, ask } = agents[name];

  test('The agent has the tools after cadre mcp install, and does not have them after cadre mcp uninstall.', () => {
    let written = '';
    return onServer(
      (home, model) => (written = config(home, model)),
      async (server) => {
        const { providers } = parse(written) as {
          providers: Record<string, { env: Record<string, string> }>;
        };
        const { work } = server;
        const bin = join(server.home, 'bin');
        mkdirSync(bin);
        symlinkSync(agentStart(name).command, join(bin, name));
        const own = {
          ...providers[name]?.env,
          ...env,
          PATH: `${bin}:${process.env.PATH}`,
        };
        const cadre = (...args: string[]) => cadreOn(server)(['mcp', ...args], { env: own });
        const agent = (...args: string[]) => {
          const running = execute(name, args, { env: own, cwd: work, encoding: 'utf8' });
          running.child.stdin?.end();
          return running;
        };

        // Twice: the second replaces the first.
        for (const _ of [1, 2]) {
          const made = await cadre('install', name, '--permission-mode', 'full_access', '--json');
          expect([made.code, made.stderr]).toEqual([0, '']);
          expect(made.json()).toMatchObject({ agent: name, file: expect.any(String) });
        }
        const args = JSON.stringify({ command: 'pwd', wait_ms: 20_000 });
        const { stdout } = await agent(...ask(`@@tool:cadre_process_run:${args}`));
        expect(stdout).toContain(work);
        const [token, ...others] = await server.client.call(endpoints.listTokens, {});
        expect(others).toEqual([]);
        expect(token?.last_used_at).toEqual(expect.any(Number));
        expect(await server.client.call(endpoints.listProcesses, {})).toMatchObject([
          { command: 'pwd', cwd: work, session_id: null, caller_id: token?.id },
        ]);

        expect((await cadre('uninstall', name)).code).toBe(0);
        expect((await agent('mcp', 'list')).stdout).not.toContain('cadre');
        expect((await cadre('list', '--json')).json()).toEqual([]);
      },
    );
  });
});
