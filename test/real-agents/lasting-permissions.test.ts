import { existsSync, globSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { stringify } from 'smol-toml';
import { expect, test } from 'vitest';
import { asked, decide } from '../support/providers/calls.ts';
import { WatchedSession } from '../support/providers/provider-harness.ts';
import { openSession } from '../support/turns.ts';
import { codexEnvironment } from './codex-env.ts';
import { escalated } from './codex-fixture.ts';
import { agentStart } from './install.ts';
import type { ModelServer } from './model-server.ts';
import { type AgentServer, onServer } from './on-server.ts';

const PATIENCE_MS = 60_000;

interface Kept {
  /** A prompt with which the agent asks to run a command. */
  prompt: (command: string) => string;
  configure: (home: string, model: ModelServer) => string;
  /** The files in which the agent itself would keep a permission, below the home of the test. */
  files: string;
}

/** Agents whose own option `allow_always` writes a permission that outlives the session. */
const agents: Record<'goose' | 'codex-acp', Kept> = {
  goose: {
    prompt: (command) => `@@tool:shell:${JSON.stringify({ command })}`,
    configure: (home, { url }) => withAgent('goose', gooseEnvironment(home, url)),
    files: 'goose/**/permission*',
  },
  'codex-acp': {
    prompt: escalated,
    configure: (home, { url }) =>
      withAgent('codex-acp', codexEnvironment({ modelUrl: url, asks: true }, home)),
    files: 'codex/rules/**',
  },
};

for (const [agent, { prompt, configure, files }] of Object.entries(agents)) {
  test(`An acceptance for the session of ${agent} is asked for again in a second session, and ${agent} keeps no permission.`, () =>
    onServer(configure, async (server) => {
      const command = 'touch first.txt';
      const one = await watched(server, agent);
      await using _one = one.watch;
      const { turnId: first, approval } = await one.asks(prompt(command));
      expect(approval.scopes).toContain('session');
      await decide(server.client, approval, 'accept', 'session');
      await one.watch.end(first, PATIENCE_MS);
      expect(existsSync(join(server.work, 'first.txt'))).toBe(true);

      // The same request of the same session is not asked for again.
      const again = await one.run(prompt(command));
      expect(again.status).toBe('completed');
      expect(requestsOf(one, again.turn_id)).toBe(0);

      const two = await watched(server, agent);
      await using _two = two.watch;
      const second = await two.send(prompt(command));
      await decide(server.client, await asked(two.watch, second), 'decline');
      await two.watch.end(second, PATIENCE_MS);
      expect(permissionsIn(server.home, files)).not.toMatch(/touch|always_allow:\s*(?:\[\s*\w|-)/);
    }));
}

async function watched({ client, work }: AgentServer, agent: string) {
  const more = { agent, permission_mode: 'require_approval' };
  const { id } = await openSession(client, work, more);
  return new WatchedSession(client, id, PATIENCE_MS);
}

/** How often a person was asked in a turn. */
function requestsOf({ watch }: WatchedSession, turnId: string): number {
  return watch.events.filter((one) => one.kind === 'approval.requested' && one.turn_id === turnId)
    .length;
}

/** The text of all files in which an agent keeps permissions. */
function permissionsIn(home: string, files: string): string {
  const found = globSync(files, { cwd: home, withFileTypes: true }).filter((one) => one.isFile());
  return found
    .map(({ parentPath, name }) => readFileSync(join(parentPath, name), 'utf8'))
    .join('\n');
}

function withAgent(name: 'goose' | 'codex-acp', env: Record<string, string>): string {
  return stringify({ providers: { acp: { agents: { [name]: { ...agentStart(name), env } } } } });
}

/** The environment in which goose talks to the scripted model and to nothing else. */
function gooseEnvironment(home: string, modelUrl: string): Record<string, string> {
  const own = join(home, 'goose');
  const temporary = join(own, 'tmp');
  mkdirSync(temporary, { recursive: true });
  return {
    HOME: home,
    TMPDIR: temporary,
    GOOSE_PATH_ROOT: own,
    GOOSE_DISABLE_KEYRING: '1',
    GOOSE_PROVIDER: 'openai',
    GOOSE_MODEL: 'gpt-4o',
    OPENAI_HOST: modelUrl,
    OPENAI_API_KEY: 'dummy-key',
    GOOSE_TELEMETRY_ENABLED: 'false',
  };
}
