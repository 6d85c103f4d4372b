import { expect, it } from 'vitest';
import { expectEventually } from '../../../support/expect-eventually.ts';
import { completed, type ScriptedTurn } from '../../../support/scripted-provider.ts';
import {
  kinds,
  type Harness,
  testHarness,
  afterCrash,
  testSession,
  testTurn,
} from '../../../support/sessions/harness.ts';
import { CountingIds, inOneGroup } from '../../../support/sessions/one-group.ts';
import { withTimeout } from '../../../support/sessions/with-timeout.ts';
import { scaled } from '../../../support/patience.ts';
import { atLength } from '../../../support/at-length.ts';

const limit = (max_live: number, more: object = {}) => ({
  config: { providers: { max_live, ...more } },
});

/** Runs a turn of a session to its end. */
async function visit(harness: Harness, session: { id: string }): Promise<ScriptedTurn> {
  const turn = await harness.startTurn(session);
  await harness.complete(turn);
  return turn;
}

async function openMany(harness: Harness, count: number) {
  return Promise.all(Array.from({ length: count }, () => harness.open()));
}

const many = atLength(100, 1000, 200);

it(
  `${many} sessions with a turn each never exceed max_live.`,
  { timeout: scaled(60_000) },
  async () => {
    const harness = await testHarness({
      ...limit(8),
      agents: {
        onTurn: (turn) => void setImmediate(() => turn.end(completed)),
        ending: () => new Promise((resolve) => void setImmediate(resolve)),
      },
    });
    const sessions = [];
    for (let at = 0; at < many; at += 100) sessions.push(...(await openMany(harness, 100)));
    const sent = await Promise.all(sessions.map((session) => harness.send(session, 'go')));
    expect(new Set(sent.map(({ status }) => status))).toEqual(new Set([200]));
    // Waits for groups of 50 turns, because each wait has a time limit.
    for (let ends = 50; ends <= many; ends += 50) await harness.times('turn.completed', ends);
    expect(harness.provider.live.most).toBeLessThanOrEqual(8);
  },
);

it('A waiting turn names the limit and the busy agents, in its session, diagnostics and health.', async () => {
  const harness = await testHarness(limit(1));
  const [busy, waiting] = await openMany(harness, 2);
  if (!busy || !waiting) throw new Error('too few');
  await harness.startTurn(busy);
  const { body: turn } = await harness.send(waiting, 'go');
  await expectEventually(() => harness.get('/v1/diagnostics')).toMatchObject({
    body: { agents: { live: 1, max: 1, waiting: [{ session_id: waiting.id }] } },
  });
  harness.clock.advance(5000);
  const notice = await harness.until(({ kind }) => kind === 'session.notice');
  expect(notice).toMatchObject({ session_id: waiting.id, turn_id: turn.turn_id });
  expect(notice.payload).toMatchObject({ code: 'waits_for_agent' });
  expect(JSON.stringify(notice.payload)).toContain(busy.id);
  const health = async () =>
    (await harness.get<{ status: string; checks: { agents: { detail?: string } } }>('/v1/health'))
      .body;
  expect((await health()).checks.agents).toEqual({ status: 'ok' });
  harness.clock.advance(60_000);
  const { status, checks } = await health();
  expect(status).toBe('degraded');
  expect(checks.agents.detail).toContain(
    `1 turn is waiting for an agent, the longest (session ${waiting.id})`,
  );
  await harness.close(busy.id);
  await harness.provider.nextTurn();
  expect((await health()).status).toBe('ok');
});

it('A start with many accepted turns does not exceed the limit.', async () => {
  const [harness] = await afterCrash(
    async (harness) => {
      const sessions = await openMany(harness, 10);
      await Promise.all(sessions.map((session) => harness.send(session, 'go')));
    },
    {
      before: { ...limit(2), agents: { opening: () => new Promise(() => undefined) } },
      after: limit(2),
    },
  );
  await harness.provider.nextTurn();
  await harness.provider.nextTurn();
  await harness.open();
  expect(harness.provider.live.most).toBe(2);
});

it('Turns beyond the limit wait as accepted, and start in order.', async () => {
  const harness = await testHarness(limit(1));
  const first = await harness.open();
  const busy = await harness.startTurn(first, 'first');
  const others = [];
  for (const name of ['second', 'third', 'fourth', 'fifth']) {
    const session = await harness.open();
    const { body } = await harness.send(session, name);
    others.push({ session, turnId: body.turn_id });
  }
  for (const { session, turnId } of others) {
    expect((await harness.turn(session.id, turnId)).status).toBe('accepted');
    expect((await harness.session(session.id)).status).toBe('running');
  }
  const order = [];
  let turn = busy;
  for (const _ of others) {
    turn.end(completed);
    turn = await harness.provider.nextTurn();
    order.push(turn.text);
  }
  expect(order).toEqual(['second', 'third', 'fourth', 'fifth']);
  expect(harness.provider.live.most).toBe(1);
});

it('Waiting turns keep their order among several agents, of which two become free at once.', async () => {
  const harness = await testHarness(limit(2));
  const busy = [];
  for (const session of await openMany(harness, 2)) busy.push(await harness.startTurn(session));
  const names = ['third', 'fourth', 'fifth', 'sixth', 'seventh', 'eighth'];
  for (const name of names) await harness.send(await harness.open(), name);
  const order = [];
  let free: ScriptedTurn[] = busy;
  while (order.length < names.length) {
    for (const turn of free) turn.end(completed);
    free = [await harness.provider.nextTurn(), await harness.provider.nextTurn()];
    order.push(...free.map(({ text }) => text));
  }
  expect(order).toEqual(names);
  expect(harness.provider.live.most).toBe(2);
});

it('The agent that is idle for longest is ended first.', async () => {
  const harness = await testHarness(limit(3));
  const [a, b, c, d, e] = await openMany(harness, 5);
  if (!a || !b || !c || !d || !e) throw new Error('too few');
  const agents = new Map<string, ScriptedTurn['agent']>();
  for (const [name, session] of Object.entries({ a, b, c })) {
    agents.set(name, (await visit(harness, session)).agent);
    harness.clock.advance(1000);
  }
  agents.set('d', (await visit(harness, d)).agent);
  const living = () =>
    [...agents].filter(([, { calls }]) => !calls.includes('end')).map(([name]) => name);
  expect(living()).toEqual(['b', 'c', 'd']);
  harness.clock.advance(1000);
  await visit(harness, b);
  harness.clock.advance(1000);
  agents.set('e', (await visit(harness, e)).agent);
  expect(living()).toEqual(['b', 'd', 'e']);
});

/** One at work, and three that wait: the first of them is to be taken away. */
async function queue(harness: Harness) {
  const busy = await harness.startTurn(await harness.open(), 'busy');
  const waiting = [];
  for (const name of ['away', 'next', 'last']) {
    const session = await harness.open();
    const { body } = await harness.send(session, name);
    waiting.push({ session, turnId: body.turn_id });
  }
  const [away] = waiting;
  if (!away) throw new Error('none waits');
  return { busy, away };
}

it('A waiting turn can be interrupted, and the turns behind it still start.', async () => {
  const harness = await testHarness(limit(1));
  const { busy, away } = await queue(harness);
  const { body } = await harness.interrupt(away.session.id, away.turnId);
  expect(body.status).toBe('interrupted');
  busy.end(completed);
  const next = await withTimeout(harness.provider.nextTurn(), 'the next in line', 2000);
  expect(next.text).toBe('next');
  next.end(completed);
  expect((await harness.provider.nextTurn()).text).toBe('last');
});

it('A waiting turn ends when its session is closed, and the turns behind it still start.', async () => {
  const harness = await testHarness(limit(1));
  const { busy, away } = await queue(harness);
  await harness.close(away.session.id);
  expect((await harness.turn(away.session.id, away.turnId)).status).toBe('interrupted');
  busy.end(completed);
  const next = await withTimeout(harness.provider.nextTurn(), 'the next in line', 2000);
  expect(next.text).toBe('next');
  next.end(completed);
  expect((await harness.provider.nextTurn()).text).toBe('last');
});

it('A waiting turn gets the slot of an agent that dies.', async () => {
  const harness = await testHarness(limit(1));
  const { busy } = await queue(harness);
  busy.agent.die('crashed');
  busy.end({ status: 'failed', error: { code: 'provider_exited', message: 'crashed' } });
  expect((await harness.provider.nextTurn()).text).toBe('away');
});

it('A waiting turn gets the slot of an agent that could not start.', async () => {
  const harness = await testHarness(limit(1));
  const { busy } = await queue(harness);
  harness.provider.refuseOpen(new Error('no'));
  busy.end(completed);
  expect((await harness.provider.nextTurn()).text).toBe('next');
});

it('An idle agent is ended after 15 minutes, and resumed with the next turn.', async () => {
  const { harness, session } = await testSession();
  const { agent } = await visit(harness, session);
  const events = kinds(await harness.events(session.id));
  harness.clock.advance(899_999);
  expect(agent.calls).toEqual(['prompt']);
  harness.clock.advance(1);
  expect(await agent.gone).toBe('was ended');
  expect(kinds(await harness.events(session.id))).toEqual(events);
  expect((await harness.session(session.id)).status).toBe('ready');
  const next = await harness.startTurn(session, 'again');
  expect(next.agent.session.provider_session_ref).toBe(`ref-${session.id}`);
});

it('An idle agent is ended after providers.idle_timeout_ms, counted from its last turn.', async () => {
  const harness = await testHarness(limit(32, { idle_timeout_ms: 1000 }));
  const session = await harness.open();
  const { agent } = await visit(harness, session);
  harness.clock.advance(900);
  const turn = await harness.startTurn(session);
  harness.clock.advance(5000);
  expect(agent.calls).toEqual(['prompt', 'prompt']);
  await harness.complete(turn);
  harness.clock.advance(999);
  expect(agent.calls).not.toContain('end');
  harness.clock.advance(1);
  expect(await agent.gone).toBe('was ended');
});

it('An idle agent that cannot be resumed keeps running, and only others are ended for new agents.', async () => {
  let opened = 0;
  const harness = await testHarness({
    ...limit(3, { idle_timeout_ms: 1000 }),
    // The first agent only is lasting.
    agents: { canResume: () => opened++ > 0 },
  });
  const [lasting, other, third, fourth] = await openMany(harness, 4);
  if (!lasting || !other || !third || !fourth) throw new Error('too few');
  const { agent } = await visit(harness, lasting);
  harness.clock.advance(900_000);
  const second = await visit(harness, other);
  await visit(harness, third);
  await visit(harness, fourth);
  expect(second.agent.calls).toContain('end');
  expect(agent.calls).toEqual(['prompt']);
  expect((await visit(harness, lasting)).agent).toBe(agent);
});

it('An agent whose next turn arrives as the last one ends is not idle.', async () => {
  const ids = new CountingIds();
  const { harness, session, turn: first } = await testTurn({ ids });
  const { sent } = await inOneGroup(harness, async () => {
    const ended = ids.more(1);
    first.end(completed);
    await ended;
    const accepted = ids.more(1);
    const reply = harness.send(session, 'next');
    await accepted;
    return { sent: reply };
  });
  expect((await sent).status).toBe(200);
  const next = await harness.provider.nextTurn();
  expect(next.agent).toBe(first.agent);
  harness.clock.advance(900_000);
  await harness.open();
  expect(next.agent.calls).toEqual(['prompt', 'prompt']);
});

it('An ended agent no longer counts as live.', async () => {
  const harness = await testHarness(limit(32, { idle_timeout_ms: 1000 }));
  const count = async () =>
    (await harness.get<{ sessions: number }[]>('/v1/diagnostics/providers')).body[0]?.sessions;
  const { agent } = await visit(harness, await harness.open());
  expect(await count()).toBe(1);
  harness.clock.advance(1000);
  await agent.gone;
  expect(await count()).toBe(0);
});
