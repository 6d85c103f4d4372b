import { describe, expect, test } from 'vitest';
import { endpoints } from '../../src/api/index.ts';
import type { ProviderId } from '../../src/api/provider-kinds.ts';
import { asked, decide } from '../support/providers/calls.ts';
import { WatchedSession } from '../support/providers/provider-harness.ts';
import { openSession } from '../support/turns.ts';
import { claudeConfig } from './claude-env.ts';
import { codexConfig } from './codex-env.ts';
import type { ModelServer } from './model-server.ts';
import { opencodeConfig } from './opencode-config.ts';
import { type AgentServer, onServer } from './on-server.ts';

type Config = (home: string, model: ModelServer) => string;

const configs = {
  codex: (home, { url }) => codexConfig({ home, modelUrl: url }),
  claude: (home, { url }) => claudeConfig({ home, modelUrl: url }),
  acp: (home, model) => opencodeConfig(home, model, 'allow'),
} satisfies Partial<Record<ProviderId, Config>>;

const PATIENCE_MS = 30_000;

describe.for(['codex', 'claude', 'acp'] as const)(
  'the tools of cadre, with the real %s',
  (provider) => {
    test('A process of the agent belongs to its session, and the result reaches the model.', () =>
      onServer(freed(configs[provider]), async (server) => {
        const given = { server, provider };
        const { turn, processes } = await runTool(given, { isFree: true });
        expect(turn.text).toContain(processes[0]?.process_id);
        expect(turn.status).toBe('completed');
        expect(processes).toMatchObject([{ status: 'completed', stdout_bytes: 13 }]);
      }));

    test.for([{ permission_mode: null }, { permission_mode: 'require_approval' }])(
      'A process in a session with %j needs one approval, which cadre requests instead of the agent.',
      ({ permission_mode }) =>
        onServer(configs[provider], async (server) => {
          const given = { server, provider };
          const { turn, processes } = await runTool(given, { permission_mode });
          expect(turn.text).toContain(processes[0]?.process_id);
          expect(processes).toHaveLength(1);
        }),
    );
  },
);

interface Given {
  server: AgentServer;
  provider: ProviderId;
}

/** The same configuration, with the tool freed by the operator. */
function freed(config: (home: string, model: ModelServer) => string): typeof config {
  return (home, model) => `${config(home, model)}\n[gateway]\nfree = ["cadre_process_run"]\n`;
}

/** Has the model call the tool; accepts what is asked where it is not freed. */
async function runTool(
  { server: { client, work }, provider }: Given,
  { isFree = false, permission_mode = null }: { isFree?: boolean; permission_mode?: string | null },
) {
  const session = await openSession(client, work, { provider, permission_mode });
  const watched = new WatchedSession(client, session.id, PATIENCE_MS);
  await using watch = watched.watch;
  const args = { command: 'echo tool-says-$((6*7))', wait_ms: 20_000 };
  const turnId = await watched.send(`@@tool:cadre_process_run:${JSON.stringify(args)}`);
  if (!isFree) {
    const approval = await asked(watch, turnId);
    expect(approval).toMatchObject({ kind: 'command', title: args.command });
    await decide(client, approval, 'accept');
  }
  await watch.end(turnId, PATIENCE_MS);
  const query = { session_id: session.id };
  const processes = await client.call(endpoints.listProcesses, { query });
  const approvals = await client.call(endpoints.listApprovals, {
    query: { ...query, status: 'accepted' },
  });
  expect(approvals).toHaveLength(isFree ? 0 : 1);
  return { turn: await watched.turn(turnId), processes };
}
