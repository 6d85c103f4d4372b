import { expect, test } from 'vitest';
import { endpoints } from '../../src/api/index.ts';
import { testServer, type TestServer } from '../support/server.ts';
import { testDirectory } from '../support/temp.ts';
import { scaled } from '../support/patience.ts';

/** Agents that start and never say anything: their turns are accepted, and that is all. */
const config = '[providers.acp]\ncommand = "sleep"\nargs = ["infinity"]\n';
const MEMBERS = 24;

test(
  'A broadcast that a crash cuts off before its answer is taken back by the next start, and its key sends it anew.',
  {
    timeout: scaled(60_000),
  },
  () =>
    afterCrashAt('broadcast.slice', async (server, { params, say }) => {
      const [cut] = await server.client.call(endpoints.listMessages, { params });
      await expect
        .poll(async () => statuses(await deliveries(server, params)), { timeout: scaled(15_000) })
        .toEqual(['cancelled']);
      const [taken] = await server.client.call(endpoints.listMessages, { params });
      expect(taken).toMatchObject({ id: cut?.id, cancelled_at: expect.any(Number) });
      const sent = await say(server);
      expect(sent.message.id).not.toBe(cut?.id);
      expect(sent.deliveries).toHaveLength(MEMBERS - 1);
      await expectAllDelivered(server, params, sent.message.id);
    }),
);

test(
  'A broadcast that was stored when the server died is sent by the next start, once to each, and its key gives the same answer.',
  {
    timeout: scaled(60_000),
  },
  () =>
    afterCrashAt('broadcast.stored', async (server, { params, say }) => {
      const sent = await say(server);
      await expectAllDelivered(server, params, sent.message.id);
      expect(await server.client.call(endpoints.listMessages, { params })).toHaveLength(1);
      expect(await deliveries(server, params)).toHaveLength(MEMBERS - 1);
    }),
);

interface Team {
  params: { team_id: string };
  /** Sends the broadcast, always under the same key. */
  say(server: TestServer): Promise<{ message: { id: string }; deliveries: unknown[] }>;
}

async function afterCrashAt(
  point: string,
  judge: (server: TestServer, team: Team) => Promise<void>,
): Promise<void> {
  const place = testDirectory('broadcasts');
  const env = { CADRE_FAILPOINTS: `${point}=kill` };
  let server = await testServer({ directory: place, config, env });
  const team = await teamOn(server);
  await expect(team.say(server)).rejects.toThrow('fetch failed');
  await server.exited;
  server.client.close();
  server = await testServer({ directory: place, config });
  await judge(server, team);
}

async function teamOn(server: TestServer): Promise<Team> {
  const ids: string[] = [];
  for (let n = 0; n < MEMBERS; n++) {
    const body = { provider: 'acp' as const, cwd: server.directory };
    ids.push((await server.client.call(endpoints.createSession, { body })).id);
  }
  const [lead = '', ...others] = ids;
  const { team } = await server.client.call(endpoints.createTeam, {
    body: { name: 'many', lead_agent_id: lead, member_agent_ids: others },
  });
  const body = JSON.stringify({ sender_agent_id: lead, input: { type: 'text', text: 'hello' } });
  return {
    params: { team_id: team.id },
    async say({ url, token }) {
      const response = await fetch(`${url}/v1/teams/${team.id}/broadcasts`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${token}`,
          'content-type': 'application/json',
          'idempotency-key': 'the-same',
        },
        body,
      });
      expect(response.status).toBe(200);
      return (await response.json()) as Awaited<ReturnType<Team['say']>>;
    },
  };
}

function deliveries({ client }: TestServer, params: Team['params']) {
  return client.call(endpoints.listDeliveries, { params, query: { limit: 500 } });
}

function statuses(found: readonly { status: string }[]): string[] {
  return [...new Set(found.map(({ status }) => status))];
}

async function expectAllDelivered(
  server: TestServer,
  params: Team['params'],
  message_id: string,
): Promise<void> {
  const query = { limit: 500, message_id };
  await expect
    .poll(
      async () => statuses(await server.client.call(endpoints.listDeliveries, { params, query })),
      {
        timeout: scaled(15_000),
      },
    )
    .toEqual(['injecting']);
  const delivered = await server.client.call(endpoints.listDeliveries, { params, query });
  expect(new Set(delivered.map(({ injected_turn_id }) => injected_turn_id)).size).toBe(MEMBERS - 1);
  expect(new Set(delivered.map(({ recipient_agent_id }) => recipient_agent_id)).size).toBe(
    MEMBERS - 1,
  );
}
