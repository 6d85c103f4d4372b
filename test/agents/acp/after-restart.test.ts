import { expect, test } from 'vitest';
import { endpoints } from '../../../src/api/index.ts';
import { someOf } from '../../support/at-length.ts';
import { scaled } from '../../support/patience.ts';
import { sessionOf, turnOf, until } from '../../support/providers/calls.ts';
import { WatchedSession } from '../../support/providers/provider-harness.ts';
import {
  capabilities,
  never,
  type Params,
  type RawAgent,
  type RawSession,
  type RawAgentHarness,
  testRawAgent,
} from '../../support/providers/raw-agent.ts';
import { receivedMethods, expectWorks, offering, ready, type Handler } from './lost-agent.ts';
import { refuse } from '../../support/providers/rows.ts';

const listing = { ...capabilities, sessionCapabilities: { resume: {}, list: {} } };

test('Recovery lists the sessions of the agent and resumes only the sessions that are not listed.', async () => {
  const refs: string[] = [];
  const forgets: Handler = ({ sessionId }) =>
    sessionId === refs[2] ? refuse(-32_002, 'unknown') : {};
  const harness = await testRawAgent({
    methods: {
      ...offering(listing),
      'session/list': ({ cursor }) =>
        cursor === 'more'
          ? { sessions: [{ sessionId: refs[1] }], nextCursor: null }
          : {
              sessions: [{ sessionId: refs[0] }, { sessionId: 'another' }],
              nextCursor: 'more',
            },
      'session/resume': forgets,
      'session/load': forgets,
    },
  });
  const sessions = [];
  for (let count = 0; count < 4; count++) sessions.push(await used(harness));
  refs.push(...harness.agents.map(({ pid }) => `raw-${pid}`));
  await harness.restart();
  const { sessions_failed: failures } = await harness.recovered();
  expect(failures).toMatchObject([{ session_id: sessions[2]?.id, code: 'resume_failed' }]);
  const [lister, ...askers] = harness.agents.slice(4);
  expect(receivedMethods(lister)).toEqual(['initialize', 'session/list', 'session/list']);
  expect(askers.map((one) => one.last('session/resume')?.params?.sessionId)).toEqual([
    refs[2],
    refs[3],
  ]);
  const now = sessions.map(async ({ id }) => (await sessionOf(harness.client, { id })).status);
  expect(await Promise.all(now)).toEqual(['ready', 'ready', 'failed', 'ready']);
  await harness.noAgents();
});

const emptyList = { ...offering(listing), 'session/list': () => ({ sessions: [] }) };
const troubles: Record<string, Record<string, Handler>> = {
  'returns an invalid list': { ...offering(listing), 'session/list': () => ({ sessions: 'all' }) },
  'requires a login': { ...emptyList, 'session/resume': () => refuse(-32_000, 'Please log in') },
  dies: {
    ...emptyList,
    'session/resume': (_params, agent) => {
      agent.exit(1);
      return never;
    },
  },
  'refuses the list that it offers': {
    ...offering(listing),
    'session/list': () => refuse(-32_601, 'no method'),
  },
  'does not answer': { ...emptyList, 'session/resume': () => never },
};
test.each(someOf(Object.entries(troubles), 2))(
  'Recovery fails no session and leaves no agent running if the agent %s.',
  async (_name, methods) => {
    let isAsked = false;
    const whileAsked = Object.entries(methods).map(([method, handler]) => [
      method,
      (params: Params, agent: RawAgent) =>
        isAsked || method === 'initialize' ? handler(params, agent) : {},
    ]);
    const harness = await testRawAgent(
      { methods: Object.fromEntries(whileAsked) as Record<string, Handler> },
      { acp: { request_timeout_ms: scaled(3000) } },
    );
    const { id } = await used(harness);
    isAsked = true;
    await harness.restart();
    expect((await harness.recovered()).sessions_failed).toEqual([]);
    await harness.noAgents();
    expect(await sessionOf(harness.client, { id })).toMatchObject(ready);
    isAsked = false;
    await expectGoesOn(harness, id);
  },
);

test('Recovery stops after 500 pages of an endless session list.', async () => {
  let pages = 0;
  const harness = await testRawAgent({
    methods: {
      ...offering(listing),
      'session/list'() {
        pages++;
        return { sessions: [], nextCursor: 'more' };
      },
    },
  });
  await used(harness);
  await harness.restart();
  const isDone = async () =>
    (await harness.client.call(endpoints.getRecovery, {})).status === 'done';
  await until('it is given up', async () => pages > 500 || (await isDone()));
  expect(pages).toBeLessThanOrEqual(500);
});

test('Recovery does not ask an agent to resume a session if the agent cannot do so.', async () => {
  const harness = await testRawAgent({ methods: offering({}) });
  await used(harness);
  await harness.restart();
  await harness.recovered();
  expect(receivedMethods(harness.agents[1])).toEqual(['initialize']);
});

// Kiro and Devin lock the sessions that they have open.
test('A turn runs although the agent of the recovery still has its session open.', async () => {
  const holders = new Map<unknown, RawAgent>();
  const harness = await testRawAgent({
    methods: {
      ...emptyList,
      'session/resume'({ sessionId }, agent) {
        const holder = holders.get(sessionId);
        if (holder && !holder.gone) refuse(-32_603, 'already open in another process');
        const isSecond = holders.size === 1 && !holder;
        holders.set(sessionId, agent);
        // The agent of the recovery keeps running while it resumes the second session.
        return isSecond ? never : {};
      },
    },
  });
  const [first] = [await used(harness), await used(harness)];
  await harness.restart();
  await until('both are asked for', () => holders.size === 2);
  await expectGoesOn(harness, first.id);
});

/** Opens a session and completes a turn in it, so that there is something to resume. */
async function used(harness: RawAgentHarness): Promise<RawSession> {
  const session = await harness.open();
  await expectWorks(session, 'before');
  return session;
}

async function expectGoesOn({ client }: RawAgentHarness, id: string): Promise<void> {
  const session = new WatchedSession(client, id);
  await using watch = session.watch;
  const turnId = await session.send('after');
  await watch.end(turnId);
  const turn = await turnOf(client, session, turnId);
  expect(turn).toMatchObject({ status: 'completed', text: 'after' });
}
