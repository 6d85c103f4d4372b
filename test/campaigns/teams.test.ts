import { expect, test } from 'vitest';
import { endpoints } from '../../src/api/index.ts';
import { testServer, type TestServer } from '../support/server.ts';
import { testDirectory } from '../support/temp.ts';
import { openSession } from '../support/turns.ts';
import { scaled } from '../support/patience.ts';

/** Outcome of a message whose turn has reached that point when the server dies, and how often an agent receives it. */
const places = [
  ['turn.accepted', 'no agent has seen it: it is told by the next server', null],
  ['turn.started', 'an agent may have seen it: it is not told again', 'runtime_restarted'],
  ['turn.ending', 'an agent has seen it: it is not told again', 'runtime_restarted'],
] as const;

test.for(places)(
  'A message to a member, of a server that is killed at %s: %s, but where it is retried.',
  { timeout: scaled(60_000) },
  async ([point, , code]) => {
    const place = testDirectory('teams');
    let server = await testServer({ directory: place, env: { CADRE_FAILPOINTS: `${point}=kill` } });
    const [lead, member] = [
      await openSession(server.client, place),
      await openSession(server.client, place),
    ];
    const { team } = await server.client.call(endpoints.createTeam, {
      body: { name: 'a team', lead_agent_id: lead.id, member_agent_ids: [member.id] },
    });
    const params = { team_id: team.id };
    const input = { type: 'text' as const, text: 'say "hello"' };
    const body = { sender_agent_id: lead.id, recipient_agent_id: member.id, input };
    // It may be answered or not: it is stored before its turn can be anywhere.
    await server.client.call(endpoints.sendMessage, { params, body }).catch(() => undefined);
    await expect.poll(() => reaches(server), { timeout: scaled(15_000) }).toBe(false);
    await server.end('SIGKILL');
    server = await testServer({ directory: place });
    const only = async () => {
      const [delivery, ...others] = await server.client.call(endpoints.listDeliveries, {
        params,
      });
      expect(others).toEqual([]);
      return delivery;
    };
    const turns = async () => {
      const found = await server.client.call(endpoints.listTurns, {
        params: { session_id: member.id },
      });
      return found.map(({ status }) => status);
    };
    if (code !== null) {
      const lost = await only();
      expect(lost).toMatchObject({ status: 'injected', consumed_at: null, error: { code } });
      expect(await turns()).toEqual(['failed']);
      const retried = { ...params, delivery_id: lost?.id ?? '' };
      await server.client.call(endpoints.retryDelivery, { params: retried, body: {} });
    }
    await expect
      .poll(async () => (await only())?.consumed_at, { timeout: scaled(15_000) })
      .not.toBeNull();
    expect(await only()).toMatchObject({ status: 'injected', error: null });
    expect(await turns()).toEqual(code === null ? ['completed'] : ['completed', 'failed']);
  },
);

async function reaches({ client }: TestServer): Promise<boolean> {
  try {
    await client.call(endpoints.getPublicHealth, {});
    return true;
  } catch {
    return false;
  }
}
