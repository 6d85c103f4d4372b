import { join } from 'node:path';
import { expect, test } from 'vitest';
import { isDescribed } from '../../src/api/events.ts';
import { endpoints } from '../../src/api/index.ts';
import type { Turn } from '../../src/api/sessions.ts';
import type { Client } from '../../src/client/client.ts';
import { streamEvents } from '../../src/client/stream.ts';
import { systemClock } from '../../src/core/lib/clock.ts';
import { openSession, send } from '../support/turns.ts';
import { claudeConfig } from './claude-env.ts';
import { codexConfig } from './codex-env.ts';
import type { ModelServer } from './model-server.ts';
import { onServer } from './on-server.ts';

const echo = {
  type: 'stdio' as const,
  name: 'echo server',
  command: process.execPath,
  args: [join(import.meta.dirname, 'echo-server.ts')],
};

test('The real claude uses an MCP server of a client beside the MCP server of cadre.', () =>
  onServer(
    (home, { url }: ModelServer) => claudeConfig({ home, modelUrl: url }),
    async ({ client, work, model }) => {
      const id = await openWith(client, work, 'claude');
      const turn = await runAccepting(client, id, '@@tool:say_again:{"text":"hello"}');
      expect(turn.text).toContain('again: hello');
      const offered = model.requests.flatMap(({ tools }) => tools).join(' ');
      expect(offered).toContain('cadre_process_run');
    },
  ));

test('The real Codex calls a tool of the MCP server of a client once that server has started.', () =>
  onServer(
    (home, { url }) => codexConfig({ home, modelUrl: url }),
    async ({ client, work, model }) => {
      const id = await openWith(client, work, 'codex');
      // Codex does not wait for such servers, and then searches for their tools.
      const offers = () => model.requests.at(-1)?.tools.includes('tool_search') === true;
      while (!offers()) await runAccepting(client, id, '@@say:not yet');
      const call = '@@tool:mcp__echo_server__say_again:{"text":"hello"}';
      expect((await runAccepting(client, id, call)).text).toContain('again: hello');
    },
  ));

async function openWith(
  client: Client,
  cwd: string,
  provider: 'claude' | 'codex',
): Promise<string> {
  const more = { provider, permission_mode: 'require_approval', mcp_servers: [echo] };
  return (await openSession(client, cwd, more)).id;
}

/** Runs a turn, and accepts what its agent asks for. */
async function runAccepting(client: Client, session_id: string, text: string): Promise<Turn> {
  const { turn_id } = await send(client, session_id, text);
  const events = streamEvents({ client, clock: systemClock, sessionId: session_id });
  for await (const event of events) {
    if (event.turn_id !== turn_id || !isDescribed(event)) continue;
    if (event.kind === 'approval.requested') {
      const params = { session_id, approval_id: event.payload.approval.id };
      await client.call(endpoints.decideApproval, { params, body: { decision: 'accept' } });
    }
    if (event.kind === 'turn.completed' || event.kind === 'turn.failed') break;
  }
  return client.call(endpoints.getTurn, { params: { session_id, turn_id } });
}
