import { expect, test } from 'vitest';
import { sharedDemo } from '../../../support/demo-server.ts';
import { endpoints } from '../../../../src/api/index.ts';
import { systemClock } from '../../../../src/core/lib/clock.ts';
import { TeamModel } from '../../../../src/frontends/tui/panes/team-model.ts';
import { testPane } from './test-pane.tsx';
import { keys } from '../test-screen.tsx';
import { openSession } from '../../../support/turns.ts';
import { TeamPane } from '../../../../src/frontends/tui/panes/pane.tsx';

const server = sharedDemo();

test('A team is shown with what its members do, its messages, and where they are; older ones when they are wanted.', async () => {
  const { client, directory } = server();
  const [lead, other] = [
    await openSession(client, directory, { title: 'the lead' }),
    await openSession(client, directory),
  ];
  const { team } = await client.call(endpoints.createTeam, {
    body: { name: 'the team', lead_agent_id: lead.id },
  });
  const params = { team_id: team.id };
  await client.call(endpoints.addMember, { params, body: { agent_id: other.id, title: 'tester' } });
  const say = (text: string) =>
    client.call(endpoints.sendMessage, {
      params,
      body: {
        sender_agent_id: lead.id,
        recipient_agent_id: other.id,
        input: { type: 'text', text },
      },
    });
  for (let i = 1; i <= 60; i++) await say(`say ${i}`);
  const model = new TeamModel({ client, clock: systemClock, teamId: team.id });
  const { expectShows, press, lines } = testPane(model, TeamPane);
  await expectShows(/^say 60/m);
  expect(lines()[0]?.trimEnd()).toBe('the team');
  expect(lines()[1]).toMatch(/^(idle|working) +\S+ \(lead\)/);
  expect(lines()[2]).toMatch(/^(idle|working) +tester/);
  await expectShows(/→ tester {2}\d\d:\d\d {2}1 consumed/);
  await say('wait 60000');
  await expectShows(/^working +tester/m);
  await expectShows(/^wait 60000/m);
  await press('/', 'say 7', keys.enter).shows('"say 7": not found in the last 51 messages');
  await press(keys.escape).shows(/^in the last 51 messages/m);
  await press('g').shows(/^say 1\b/m);
  await press('G').shows(/^wait 60000/m);
  expect(model.copyable()[0]).toEqual({ name: 'last message', text: 'wait 60000' });
});
