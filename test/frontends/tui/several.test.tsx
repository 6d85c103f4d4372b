import { expect, test } from 'vitest';
import { endpoints } from '../../../src/api/index.ts';
import { scaled } from '../../support/patience.ts';
import { testServers } from '../../support/several-servers.ts';
import { openSession, runTurn, send } from '../../support/turns.ts';
import { keys, testScreen } from './test-screen.tsx';

const start = { page: 'top' } as const;

test('The screen shows the server and the work of each row, and answers approvals on that server.', async () => {
  const given = await testServers(['laptop', 'gpu']);
  const open = (node: string, title: string, more: object = {}) =>
    openSession(given.client(node), given.directory(node), { title, ...more });
  await open('laptop', 'here');
  const there = await open('gpu', 'there', { permission_mode: 'require_approval' });
  const client = await given.all();
  const { expectShows, press, lines } = testScreen(client, start);
  await expectShows('2 live');
  await expectShows(/○ +here/);
  await expectShows(/laptop · /);
  await send(given.client('gpu'), there.id, 'ask may I?; say thanks');
  await expectShows(/◆ +may I\?/);
  await press(keys.home, 'a').shows('⏎ approve');
  await press(keys.enter).shows(/Approved "may I\?"/);
  await press('v').shows(/gpu +ok +version/);
  await press(keys.escape).shows('SESSIONS 2');
  await press('n').shows('▌prompt');
  await press('say made there', keys.enter).shows('▌node       laptop');
  await press(keys.right).shows('▌node       gpu');
  // The server does not have the directory of the test; ^R fills in a recent directory of the server.
  await press(keys.down, keys.down, keys.down, keys.down, keys.down, '\u0012');
  await press('\u0013').shows(/say made there/);
  await expect
    .poll(
      async () => {
        const found = await given.client('gpu').call(endpoints.listSessions, { query: {} });
        return found.map(({ title }) => title);
      },
      { timeout: scaled(10_000) },
    )
    .toContain('say made there');
  expect(lines()[0]).toContain('2 live');
});

test('The screen keeps the rows of a server that stops, and updates them when the server is back.', async () => {
  const given = await testServers(['laptop', 'gpu']);
  const { id } = await openSession(given.client('gpu'), given.directory('gpu'), {
    title: 'far away',
  });
  const client = await given.all();
  const { expectShows, press } = testScreen(client, start);
  await expectShows(/○ +far away/);
  await given.stop('gpu');
  await expectShows(/gpu unreachable \d+s/);
  await expectShows('gpu? · ');
  await expectShows(/○ +far away/);
  await given.start('gpu');
  await expectShows('2 live');
  await runTurn(given.client('gpu'), id, 'say back again');
  await expectShows('back again');
  await press('E').shows(/cadre events all on gpu/);
});

test('The screen shows the last known rows of a server that never responds.', async () => {
  const given = await testServers(['laptop', 'gpu']);
  await openSession(given.client('gpu'), given.directory('gpu'), { title: 'remembered' });
  await given.cadre(['sessions', 'list']);
  await given.stop('gpu');
  const client = await given.all();
  const { expectShows } = testScreen(client, start);
  await expectShows(/gpu unreachable/);
  await expectShows(/○ +remembered/);
});

test('The pane of a team shows messages on a server that is not the first one.', async () => {
  const given = await testServers(['laptop', 'gpu']);
  const gpu = given.client('gpu');
  const lead = await openSession(gpu, given.directory('gpu'), { title: 'lead' });
  const member = await openSession(gpu, given.directory('gpu'), { title: 'member' });
  const { team } = await gpu.call(endpoints.createTeam, {
    body: { name: 'crew', lead_agent_id: lead.id, member_agent_ids: [member.id] },
  });
  const client = await given.all();
  const { expectShows, press } = testScreen(client, start, { rows: 30, columns: 120 });
  await expectShows('crew');
  await press(keys.end).shows('No messages yet');
  await gpu.call(endpoints.sendMessage, {
    params: { team_id: team.id },
    body: {
      sender_agent_id: lead.id,
      recipient_agent_id: member.id,
      input: { type: 'text', text: 'say over here' },
    },
  });
  await expectShows('say over here');
});
