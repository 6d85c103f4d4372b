import path from 'node:path';
import { expect, test } from 'vitest';
import { sharedDemo } from '../../support/demo-server.ts';
import type { Client } from '../../../src/client/client.ts';
import { endpoints } from '../../../src/api/index.ts';
import { streamEvents } from '../../../src/client/stream.ts';
import { systemClock } from '../../../src/core/lib/clock.ts';
import { openSession } from '../../support/turns.ts';
import { commit, makeRepository, write } from '../../support/worktrees/work.ts';
import { cadreOn, startCadre, testCadre } from '../../support/cli/cadre.ts';
import { scaled } from '../../support/patience.ts';

const demo = sharedDemo();

/** Runs a command that must succeed, and returns its stdout. */
async function ok(...words: string[]): Promise<string> {
  const { code, stdout, stderr } = await cadreOn(demo())(['teams', ...words]);
  expect([words, code, stderr]).toEqual([words, 0, '']);
  return stdout;
}

const open = async () => (await openSession(demo().client, demo().directory)).id;
const end = (id: string) => id.slice(-8);

/** Creates a team of two with the command. `team` is the end of its id. */
async function shop() {
  const [lead, member] = [await open(), await open()];
  const id = (await ok('create', 'shop', '--lead', end(lead), '--member', end(member))).trim();
  return { id, team: end(id), lead, member };
}

/** Creates a team whose lead has consumed a message. */
async function talking() {
  const made = await shop();
  const words = ['message', made.team, end(made.lead), 'say "hello"', '--priority', 'high'];
  const message = /^msg_[0-9a-f]{32}/.exec(await ok(...words))?.[0] ?? '';
  await consumed(demo(), made.id);
  return { ...made, message };
}

test('cadre teams create opens a team of sessions by the ends of their ids, and teams list shows it.', async () => {
  const { id, team, lead } = await shop();
  expect(id).toMatch(/^team_[0-9a-f]{32}$/);
  expect(await ok('list')).toMatch(new RegExp(`^${team}\t${end(lead)}\t\\d+s\tshop$`, 'm'));
  expect(await ok('get', team)).toContain('shop');
});

test('cadre teams add, lead and remove change the members and show them.', async () => {
  const { team, member } = await shop();
  const third = await open();
  expect(await ok('add', team, end(third), '--title', 'tester')).toMatch(
    new RegExp(`^${third} +- +tester$`, 'm'),
  );
  expect(await ok('lead', team, end(member))).toMatch(new RegExp(`^${member} +lead`, 'm'));
  expect(await ok('remove', team, end(third))).not.toContain(third);
});

test('cadre teams message sends a message, which messages, deliveries and show list.', async () => {
  const { team, lead, member, message } = await talking();
  const row = new RegExp(`${end(message)}\t${end(lead)}\tconsumed`);
  expect(await ok('deliveries', team)).toMatch(row);
  expect(await ok('deliveries', team, '--to', end(lead))).toMatch(row);
  expect(await ok('deliveries', team, '--status', 'consumed')).toMatch(row);
  expect(await ok('deliveries', team, '--status', 'pending')).not.toMatch(row);
  expect(await ok('deliveries', team, '--to', end(member))).not.toMatch(row);
  expect(await ok('messages', team)).toMatch(
    new RegExp(`^${end(message)}\t.*\thigh\t-\tsay "hello"$`, 'm'),
  );
  expect(await ok('show', team)).toMatch(/1 consumed +say "hello"$/m);
});

test('A reply keeps the id of its message and the correlation id.', async () => {
  const { team, lead, message } = await talking();
  const reply = ['--reply-to', end(message), '--correlation-id', 'one'];
  const answered = await ok('message', team, end(lead), 'say "yes"', ...reply, '--json');
  expect(JSON.parse(answered)).toMatchObject({
    message: { reply_to_message_id: message, correlation_id: 'one' },
  });
});

test('A retry or cancel of a consumed message is refused with 7.', async () => {
  const { id, team, message } = await talking();
  const params = { team_id: id };
  const [delivery] = await demo().client.call(endpoints.listDeliveries, { params });
  const cadre = cadreOn(demo());
  const late = await cadre(['teams', 'retry', team, end(delivery?.id ?? '')]);
  expect([late.code, late.stderr]).toEqual([7, expect.stringContaining('can be retried')]);
  expect((await cadre(['teams', 'cancel', team, end(message)])).code).toBe(7);
});

test('cadre teams interrupt-all reports that no turn is running.', async () => {
  const { team } = await shop();
  expect(await ok('interrupt-all', team)).toBe('No turns are running\n');
});

test('cadre teams spawn adds a member, which view and events tail show.', async () => {
  const { team, member } = await talking();
  const spawned = (await ok('spawn', team, 'say "hi"', '--source', end(member))).trim();
  expect(await ok('view', team)).toContain(end(spawned));
  const tail = ['events', 'tail', '--team', team, '--no-follow', '--json'];
  const kinds = (await cadreOn(demo())(tail)).lines().map(({ kind }) => kind);
  expect(kinds[0]).toBe('team.created');
  expect(kinds).toContain('team.message_created');
});

test('A deleted team is listed only with --all, and accepts no message.', async () => {
  const { id, team } = await shop();
  expect(await ok('delete', team)).toBe(`Deleted team ${id}\n`);
  expect(await ok('list')).not.toContain(team);
  expect(await ok('list', '--all')).toMatch(new RegExp(`^${team}\t.*shop \\(deleted\\)`, 'm'));
  const refused = await cadreOn(demo())(['teams', 'broadcast', team, 'anyone?', '--json']);
  expect(refused.code).toBe(7);
  expect(JSON.parse(refused.stderr)).toMatchObject({ error: { code: 'team_deleted' } });
});

test(
  'A spawned member can have a worktree of its own and metadata.',
  { timeout: scaled(60_000) },
  async () => {
    const { server, cadre } = await testCadre();
    const { id } = await openSession(server.client, server.directory);
    const { team } = await server.client.call(endpoints.createTeam, {
      body: { name: 'one', lead_agent_id: id },
    });
    const spawn = (...more: string[]) =>
      cadre(['teams', 'spawn', team.id, '--source', id, '--json', ...more]);
    const made = await spawn('--metadata', '{"for":"tests"}');
    expect(JSON.parse(made.stdout)).toMatchObject({ session: { metadata: { for: 'tests' } } });
    const wrong = [
      ['--base', 'main'],
      ['--no-init'],
      ['--no-include'],
      ['--branch-prefix', 'x'],
      ['--metadata', '{'],
    ];
    const codes = await Promise.all(wrong.map(async (one) => (await spawn(...one)).code));
    expect(codes).toEqual([2, 2, 2, 2, 2]);
    const repository = makeRepository(path.join(server.directory, 'repository'));
    const source = await openSession(server.client, repository);
    await cadre(['teams', 'add', team.id, source.id]);
    write(repository, {
      '.worktreeinclude': '.env\n',
      '.gitignore': '.env\n',
      '.env': 'X=1\n',
    });
    commit(repository, 'a list of files');
    const none = ['--no-init', '--no-include', '--worktree', 'w'];
    const how = ['--branch-prefix', 'mine', '--base', 'HEAD', ...none];
    const of = ['teams', 'spawn', team.id, '--source', source.id, '--json', ...how];
    const spawned = await cadre(of);
    expect(JSON.parse(spawned.stdout)).toMatchObject({
      worktree: {
        branch: expect.stringMatching(/^mine/),
        base_ref: 'HEAD',
        included: { status: 'off' },
      },
    });
  },
);

test(
  'cadre teams view --watch prints changes until it is interrupted.',
  { timeout: scaled(60_000) },
  async () => {
    const server = demo();
    const { id } = await openSession(server.client, server.directory);
    const body = { name: 'seen', lead_agent_id: id };
    const { team } = await server.client.call(endpoints.createTeam, { body });
    const view = ['--data-dir', server.directory, '--json', 'teams', 'view', team.id, '--watch'];
    const watching = startCadre(server.directory, view);
    await watching.until('\n');
    const said = { sender_agent_id: id, input: { type: 'text' as const, text: 'hello' } };
    await server.client.call(endpoints.broadcast, { params: { team_id: team.id }, body: said });
    await watching.until('"text":"hello"');
    watching.child.kill('SIGINT');
    const { code, lines } = await watching.ended;
    expect(code).toBe(130);
    const texts = lines().map((one) => JSON.stringify(one.messages).includes('hello'));
    expect([texts[0], texts.at(-1)]).toEqual([false, true]);
  },
);

test('An unknown team is reported with the command that lists teams.', async () => {
  const server = demo();
  const cadre = cadreOn(server);
  const unknown = await cadre(['teams', 'get', '01234567']);
  expect([unknown.code, unknown.stderr]).toEqual([
    3,
    `cadre: team "01234567" not found: see cadre teams list --data-dir ${server.directory}\n`,
  ]);
  const both = ['--preset', 'deep', '--model', 'x'];
  const spawn = await cadre(['teams', 'spawn', '01234567', '--source', '01234567', ...both]);
  expect([spawn.code, spawn.stderr]).toEqual([
    2,
    expect.stringContaining('--preset cannot be combined with'),
  ]);
});

/** Resolves once a delivery of a team was consumed. */
async function consumed({ client }: { client: Client }, teamId: string): Promise<void> {
  const kinds = ['delivery.consumed'];
  for await (const _ of streamEvents({ client, clock: systemClock, teamId, kinds })) return;
}
