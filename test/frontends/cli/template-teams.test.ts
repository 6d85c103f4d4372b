import { expect, test } from 'vitest';
import { endpoints } from '../../../src/api/index.ts';
import { joinTeam } from '../../../src/frontends/cli/session/use-template.ts';
import { sharedDemo } from '../../support/demo-server.ts';
import { testDirectory } from '../../support/temp.ts';
import { FIX, idsOf, templateRepository } from './template-repository.ts';

const server = sharedDemo();
const TEAM = FIX.replace('title', 'team = "{{team}}"\ntitle') + '\n[variables.team]\n';
const named = async (name: string) =>
  (await server().client.call(endpoints.listTeams, {})).filter((one) => one.name === name);
const membersOf = async (team_id: string) =>
  (await server().client.call(endpoints.getTeam, { params: { team_id } })).members.map(
    ({ agent_id }) => agent_id,
  );
const sessionCount = async () =>
  (await server().client.call(endpoints.listSessions, { query: { limit: 500 } })).length;

test('The first session of a team leads the team, and later sessions join it.', async () => {
  const { cadre, trust } = templateRepository(server(), { fix: TEAM });
  await trust('fix');
  const run = async () =>
    idsOf(await cadre(['--json', 'run', '--template', 'fix', 'issue=1', 'team=shop 1'])).session_id;
  const [first, second] = [await run(), await run()];
  const [team, ...others] = await named('shop 1');
  expect([team?.lead_agent_id, others]).toEqual([first, []]);
  expect(await membersOf(String(team?.id))).toEqual([first, second]);
  const shown = await cadre(['templates', 'show', 'fix', 'issue=1', 'team=shop 2']);
  expect(shown.stdout).toMatch(/^team +shop 2$/m);
  expect(await named('shop 2')).toEqual([]);
});

test('Commands that run at the same time create one team.', async () => {
  const { cadre, trust } = templateRepository(server(), { fix: TEAM });
  await trust('fix');
  const run = () => cadre(['run', '--template', 'fix', 'issue=1', 'team=at once']);
  await Promise.all([run(), run(), run()]);
  const [team, ...others] = await named('at once');
  expect(others).toEqual([]);
  expect(await membersOf(String(team?.id))).toHaveLength(3);
});

test('A team without a usable name, and a name of several teams, are refused before a session is created.', async () => {
  const { cadre, trust, session } = templateRepository(server(), { fix: TEAM });
  await trust('fix');
  const run = (team: string, json: readonly string[] = []) =>
    cadre([...json, 'run', '--template', 'fix', 'issue=1', `team=${team}`]);
  const { session_id } = idsOf(await run('twice', ['--json']));
  const [team] = await named('twice');
  const body = { name: 'twice', lead_agent_id: String(session_id) };
  const other = await server().client.call(endpoints.createTeam, { body });
  const count = await sessionCount();
  for (const [name, message] of [
    [' ', 'invalid team " " of template "fix": expected 1 to 200 characters'],
    ['x'.repeat(201), 'of template "fix": expected 1 to 200 characters'],
    ['twice', 'the name "twice" matches several teams ('],
  ] as const) {
    const refused = await run(name);
    expect([refused.code, refused.stdout]).toEqual([2, '']);
    expect(refused.stderr).toContain(message);
  }
  expect(await sessionCount()).toBe(count);
  await server().client.call(endpoints.deleteTeam, { params: { team_id: other.team.id } });
  const { session_id: joined } = idsOf(await run('twice', ['--json']));
  expect(await membersOf(String(team?.id))).toEqual([session_id, joined]);
  expect(await session(joined)).toMatchObject({ status: 'ready' });
});

test('The same key gives one session, which stays in its team.', async () => {
  const { cadre, trust } = templateRepository(server(), { fix: TEAM });
  await trust('fix');
  const words = ['run', '--template', 'fix', 'issue=1', 'team=keyed', '--key', 'team-1'];
  const run = async () => idsOf(await cadre(['--json', ...words]));
  const first = await run();
  expect(await run()).toEqual(first);
  const [team, ...others] = await named('keyed');
  expect(others).toEqual([]);
  const members = await membersOf(String(team?.id));
  expect(members).toEqual([first.session_id]);
  const params = { team_id: String(team?.id) };
  await server().client.call(endpoints.deleteTeam, { params });
  expect(await run()).toEqual(first);
  expect((await named('keyed')).map(({ id }) => id)).toEqual([team?.id]);
});

test('A session that cannot join its team is closed, unless a key makes the command safe to repeat.', async () => {
  const { client } = server();
  const session = () =>
    client.call(endpoints.createSession, { body: { provider: 'acp', cwd: testDirectory('late') } });
  const [lead, plain, keyed] = [await session(), await session(), await session()];
  const body = { name: 'late', lead_agent_id: lead.id };
  for (let n = 0; n < 2; n += 1) await client.call(endpoints.createTeam, { body });
  const join = (id: string, key?: string) =>
    joinTeam({ client, note: () => undefined }, id, 'late', key);
  await expect(join(plain.id)).rejects.toThrow('2 teams have the name "late"');
  await expect(join(keyed.id, 'late-1')).rejects.toThrow('2 teams have the name "late"');
  const status = async (session_id: string) =>
    (await client.call(endpoints.getSession, { params: { session_id } })).status;
  expect([await status(plain.id), await status(keyed.id)]).toEqual(['closed', 'ready']);
});
