import { describe, expect, test } from 'vitest';
import { endpoints } from '../../src/api/index.ts';
import type { Session, Turn } from '../../src/api/sessions.ts';
import { WatchedSession } from '../support/providers/provider-harness.ts';
import { openSession } from '../support/turns.ts';
import { claudeConfig } from './claude-env.ts';
import { bash } from './claude-fixture.ts';
import { codexConfig } from './codex-env.ts';
import { shell } from './codex-fixture.ts';
import { type AgentServer, onServer } from './on-server.ts';

const agents = {
  claude: {
    // Claude heeds the limits of a subscription alone, whose token it is given here.
    configure: (home: string, modelUrl: string) => {
      const env = { ANTHROPIC_API_KEY: '', CLAUDE_CODE_OAUTH_TOKEN: 'dummy-token' };
      return claudeConfig({ home, modelUrl, allow: ['Bash'], more: { env } });
    },
    runs: (word: string) => bash(`echo ${word}`, 'prints a word'),
    says: /You've hit your 5-hour limit/,
  },
  codex: {
    configure: (home: string, modelUrl: string) => codexConfig({ home, modelUrl }),
    runs: (word: string) => shell(`echo ${word}`),
    says: /hit your usage limit/,
  },
};

describe.for(Object.entries(agents))('a usage limit of %s', ([provider, agent]) => {
  const withAgent = (use: (server: AgentServer) => Promise<void>) =>
    onServer((home, { url }) => agent.configure(home, url), use);

  /** A session whose turn is ended by a limit that resets soon. */
  async function limited(server: AgentServer, script: string) {
    const opened = await openSession(server.client, server.work, { provider });
    const session = new WatchedSession(server.client, opened.id, 30_000);
    const cut = await session.run(`@@limit:2:${script}`);
    expect(cut).toMatchObject({ status: 'failed', error: { code: 'usage_limit' } });
    expect(cut.error?.message).toMatch(agent.says);
    const { payload } = await session.watch.kind('session.limited');
    const { usage_limit: limit } = payload.session as Session;
    expect(limit).toMatchObject({ waits_because: null, turn_id: cut.turn_id });
    expect(limit?.resumes_at).toBe(limit?.resets_at);
    return { session, cut, resetsAt: limit?.resets_at ?? Infinity };
  }

  /** Waits until the continued turn has completed. */
  async function goesOn({ session, resetsAt }: Awaited<ReturnType<typeof limited>>): Promise<Turn> {
    const { turn_id } = await session.watch.kind('turn.completed');
    const turn = await session.turn(turn_id ?? '');
    expect(turn.source).toBe('usage_limit');
    expect(turn.accepted_at).toBeGreaterThanOrEqual(resetsAt);
    expect(await session.record()).toMatchObject({ status: 'ready', usage_limit: null });
    return turn;
  }

  test('A usage limit holds the session until the limit resets, and then the refused turn is sent again once.', () =>
    withAgent(async (server) => {
      const met = await limited(server, 'say:hello');
      await using _watch = met.session.watch;
      const again = await goesOn(met);
      expect(again).toMatchObject({ text: 'hello', input: met.cut.input });
      expect(server.model.requests).toHaveLength(2);
    }));

  test('A limit ends a turn that has called a tool, and the agent continues from there.', () =>
    withAgent(async (server) => {
      const met = await limited(server, agent.runs('plover').replace('@@', ''));
      await using _watch = met.session.watch;
      const again = await goesOn(met);
      expect(again.text).toContain('plover');
      expect(again.input).toMatchObject([{ text: expect.stringContaining('Continue') as string }]);
      const calls = await server.client.call(endpoints.listItems, {
        params: { session_id: met.session.id, turn_id: again.turn_id },
      });
      expect(calls.filter(({ kind }) => kind === 'tool')).toEqual([]);
    }));
});
