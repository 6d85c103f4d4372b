import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { endpoints } from '../../src/api/index.ts';
import type { Client } from '../../src/client/client.ts';
import { shell } from '../support/cli/cadre.ts';
import { scaled } from '../support/patience.ts';
import { startServer, untilNothingCarries } from '../support/server.ts';
import { tempDirectory } from '../support/temp.ts';
import { makeRepository } from '../support/worktrees/work.ts';
import { opencodeAndGemini } from './acp-agents.ts';
import { claudeConfig } from './claude-env.ts';
import { codexConfig } from './codex-env.ts';
import { startModelServer } from './model-server.ts';
import { makePlaces } from './on-server.ts';

const script = join(import.meta.dirname, '../../examples/team.sh');

test(
  'A team of claude, codex, opencode and gemini works in worktrees, sends requests, and answers a broadcast.',
  async () => {
    await using model = await startModelServer();
    await using directory = tempDirectory('team');
    const { server, home, work } = makePlaces(directory.path);
    const { client, end } = await startServer(server, { config: configuration(home, model.url) });
    try {
      const repository = makeRepository(join(work, 'shop'));
      const { stdout, stderr, code } = await shell(
        server,
        `export -f cadre
         export CADRE_DATA_ROOT_DIR='${server}'
         cd '${repository}'
         yes | UNDESCRIBED=1 bash '${script}' shop '@@shell:touch asked' '@@reply:I have read it'`,
      );
      expect(stderr).toMatch(
        /^(cadre: The agent does not say what this request would do[^\n]+\n)*$/,
      );
      expect(code).toBe(0);
      expect(stdout).toContain('I have read it');
      await expectTeamwork(client, repository);
    } finally {
      await end('SIGTERM');
      await untilNothingCarries(directory.path);
    }
  },
  scaled(240_000),
);

/** The four agents. */
function configuration(home: string, modelUrl: string): string {
  for (const name of ['claude', 'codex']) mkdirSync(join(home, name));
  return [
    claudeConfig({ home: join(home, 'claude'), modelUrl }),
    codexConfig({ home: join(home, 'codex'), modelUrl, asks: true }),
    opencodeAndGemini(home, modelUrl),
  ].join('\n');
}

async function expectTeamwork(client: Client, repository: string): Promise<void> {
  const [team] = await client.call(endpoints.listTeams, {});
  const params = { team_id: team?.id ?? '' };
  const { members } = await client.call(endpoints.getTeam, { params });
  const others = members.filter(({ agent_id: id }) => id !== team?.lead_agent_id);
  const titles = new Set(['claude', 'codex', 'opencode', 'gemini']);
  expect(new Set(others.map(({ title }) => title))).toEqual(titles);
  const said = await client.call(endpoints.listMessages, { params });
  const deliveries = await client.call(endpoints.listDeliveries, { params });
  // To each of the four: its task and the broadcast; from each of them: its answer.
  expect(deliveries).toHaveLength(12);
  expect(deliveries.filter(({ consumed_at: at }) => at === null)).toEqual([]);

  for (const { agent_id: id, title, worktree_id } of others) {
    const session = await client.call(endpoints.getSession, { params: { session_id: id } });
    expect(session.agent ?? session.provider).toBe(title);
    expect(worktree_id).not.toBeNull();
    expect(session.cwd).not.toBe(repository);
    expect(existsSync(join(session.cwd, 'asked'))).toBe(true);
    const query = { session_id: id, status: 'accepted' as const };
    const approvals = await client.call(endpoints.listApprovals, { query });
    expect(approvals).toMatchObject([{ kind: 'command' }]);
    const answers = said.filter(({ sender_agent_id: sender }) => sender === id);
    expect(answers).toMatchObject([{ recipient_agent_id: team?.lead_agent_id }]);
  }
  expect(existsSync(join(repository, 'asked'))).toBe(false);
}
