import { expect, test } from 'vitest';
import { expectError } from '../../support/an-error.ts';
import { endpoints } from '../../../src/api/index.ts';
import { version } from '../../../src/core/lib/self.ts';
import { sessionOf, until } from '../../support/providers/calls.ts';
import { WatchedSession } from '../../support/providers/provider-harness.ts';
import {
  endTurn,
  type RawAgent,
  sharedRawAgent,
  testRawAgent,
} from '../../support/providers/raw-agent.ts';
import { onGo } from '../../support/providers/rows.ts';
import { ofKind } from '../../support/turns.ts';

const on = sharedRawAgent();

const titled = (title: string | null) => ({ sessionUpdate: 'session_info_update', title });
const offering = (...names: string[]) => ({
  sessionUpdate: 'available_commands_update',
  availableCommands: names.map((name) => ({ name, description: `does ${name}`, input: null })),
});

const renaming = onGo((agent: RawAgent) => {
  for (const title of ['Fix it', 'Fix it', 'Fix the build', null, '  ', 'New session - today'])
    agent.update(titled(title));
  return endTurn;
});

test('A title from the agent replaces the title from the first prompt, with one event per change.', async () => {
  const { firstTurn } = on(renaming);
  const { session } = await firstTurn('go');
  expect(await session.record()).toMatchObject({
    title: 'Fix the build',
    title_source: 'agent',
  });
  const changes = ofKind(session.watch.events, 'session.updated');
  expect(changes.map(({ payload }) => (payload.session as { title: string }).title)).toEqual([
    'Fix it',
    'Fix the build',
  ]);
});

test('A title from the agent does not replace a title that a user set.', async () => {
  const { client, firstTurn } = on(renaming);
  const { session } = await firstTurn('go', { title: 'mine' });
  expect(await session.record()).toMatchObject({ title: 'mine', title_source: 'person' });
  const params = { session_id: session.id };
  await client.call(endpoints.updateSession, { params, body: { title: 'yours' } });
  await session.run('go');
  expect(await session.record()).toMatchObject({ title: 'yours', title_source: 'person' });
  await client.call(endpoints.updateSession, { params, body: { title: null } });
  expect(await session.record()).toMatchObject({ title: null, title_source: null });
  await session.run('go');
  expect((await session.record()).title).toBe('Fix the build');
});

test('An agent can send a title and commands while it resumes a session.', async () => {
  const harness = await testRawAgent({
    methods: {
      'session/resume': (_params, agent) => {
        agent.update(titled('Again'), offering('again'));
        return {};
      },
    },
  });
  const { session: first } = await harness.firstTurn('go');
  await harness.restart();
  const session = new WatchedSession(harness.client, first.id);
  await using _watch = session.watch;
  await session.run('more');
  expect((await session.record()).title).toBe('Again');
  const params = { session_id: first.id };
  expect(await harness.client.call(endpoints.listCommands, { params })).toMatchObject([
    { name: 'again' },
  ]);
});

test('The commands of a session are the last ones that its agent sent, also after a restart.', async () => {
  const harness = await testRawAgent(
    onGo((agent) => {
      agent.update(offering('old'), offering('plan', 'test'));
      return endTurn;
    }),
  );
  const { id } = await harness.open();
  const params = { session_id: id };
  const read = () => harness.client.call(endpoints.listCommands, { params });
  expect(await read()).toEqual([]);
  const session = new WatchedSession(harness.client, id);
  await using _watch = session.watch;
  await session.run('go');
  const commands = [
    { name: 'plan', description: 'does plan', hint: null },
    { name: 'test', description: 'does test', hint: null },
  ];
  expect(await read()).toEqual(commands);
  await harness.restart();
  expect(await read()).toEqual(commands);
  const unknown = { params: { session_id: 'sess_none' } };
  await expectError(harness.client.call(endpoints.listCommands, unknown), 'not_found');
});

test('Notices and compaction updates are events of the turn, each with its code.', async () => {
  const { open, diagnostics } = on(
    onGo((agent) => {
      const compaction = { sessionUpdate: 'compaction_update', compactionId: 'c' };
      agent.update(
        { sessionUpdate: 'notice', severity: 'warning', title: 'Slow', description: 'today' },
        { ...compaction, status: 'in_progress' },
        { sessionUpdate: 'compaction_summary_chunk', compactionId: 'c', content: {} },
        { ...compaction, status: 'failed', error: 'no room' },
      );
      return endTurn;
    }),
  );
  const session = await open();
  const { unknown_messages } = await diagnostics();
  const turn = await session.run('go');
  const notices = ofKind(session.watch.of(turn.turn_id), 'session.notice');
  expect(notices.map(({ payload }) => payload)).toEqual([
    { code: 'warning', message: 'Slow: today' },
    { code: 'compaction', message: 'compacting the context' },
    { code: 'compaction', message: 'context compaction failed: no room' },
  ]);
  expect((await diagnostics()).unknown_messages).toBe(unknown_messages);
});

test('An ACP agent receives the version of cadre.', async () => {
  const { open, agents } = on({});
  await (await open()).run('hello');
  const clientInfo = agents[0]?.last('initialize')?.params?.clientInfo;
  expect(clientInfo).toEqual({ name: 'cadre', version });
});

test('Text outside a turn is completed without a next turn.', async () => {
  const { client, firstTurn, agents } = on({});
  const { session } = await firstTurn('hello');
  agents[0]?.say('By the way');
  const isAside = ({ kind, turn_id }: { kind: string; turn_id: string | null }) =>
    kind === 'message.completed' && turn_id === null;
  expect((await session.watch.until('the end of it', isAside)).payload).toMatchObject({
    text: 'By the way',
    status: 'completed',
  });
  expect(await sessionOf(client, session)).toMatchObject({ status: 'ready' });
  await until('it is idle', async () => (await session.record()).status === 'ready');
});
