import { expect, it } from 'vitest';
import type { Approval } from '../../../../src/api/approvals.ts';
import { type AgentRequest, ProviderError } from '../../../../src/agents/provider.ts';
import { shared } from '../../../support/shared.ts';
import { completed, type ScriptedOptions } from '../../../support/scripted-provider.ts';
import { ManualClock } from '../../../support/manual-clock.ts';
import {
  endOf,
  killed,
  kinds,
  withHarness,
  type Harness,
  afterCrash,
} from '../../../support/sessions/harness.ts';

const SENTENCE = 'The request below was approved while you were not running. Continue.';

/** The state of a session when the first runtime was killed. */
interface Left {
  sessionId: string;
  turnId: string;
  approvals: Approval[];
  /** Number of events of the session before the kill. */
  eventsBefore: number;
}

/** A session whose agent has asked for these. */
async function ask(harness: Harness, requests: Partial<AgentRequest>[] = [{}]): Promise<Left> {
  const { session, turn, turnId } = await harness.atWork();
  const sessionId = session.id;
  const approvals: Approval[] = [];
  for (const request of requests) {
    void turn.ask(request);
    approvals.push(await harness.asked(sessionId, approvals.length + 1));
  }
  const eventsBefore = (await harness.events(sessionId)).length;
  return { sessionId, turnId, approvals, eventsBefore };
}

/** The kinds of what happened to the session since the new start. */
async function news(harness: Harness, { sessionId, eventsBefore }: Left): Promise<string[]> {
  return kinds((await harness.events(sessionId)).slice(eventsBefore));
}

function first({ approvals }: Left): Approval {
  const [approval] = approvals;
  if (!approval) throw new Error('none was asked for');
  return approval;
}

/** A server that died while sessions waited, each for one answer, and the one after it. */
const dead = shared<{ harness: Harness; waiting: Left[] }>('harness', async (use) => {
  await using old = await killed(async (harness) => {
    const waiting: Left[] = [];
    while (waiting.length < 8) waiting.push(await ask(harness));
    return waiting;
  });
  const { directory, left: waiting, at } = old;
  await withHarness((harness) => use({ harness, waiting }), {
    directory,
    clock: new ManualClock(at),
  });
});

/** Returns one of these sessions, which no other test uses. */
function nextOne(): [Harness, Left] {
  const { harness, waiting } = dead();
  return [harness, waiting.pop() ?? expect.unreachable()];
}

it('A kept approval expires at its time: the turn is interrupted, and nothing is started.', async () => {
  const clock = new ManualClock();
  const config = { approvals: { timeout_ms: 60_000 } };
  const [harness, left] = await afterCrash((harness) => ask(harness), {
    before: { clock, config },
  });
  harness.clock.advance(59_999);
  expect((await harness.approvals()).map(({ id }) => id)).toEqual([first(left).id]);
  harness.clock.advance(1);
  await harness.until(endOf(left.turnId));
  expect(await news(harness, left)).toEqual(['approval.resolved', 'turn.interrupted']);
  const [expired] = await harness.approvals('?status=expired');
  expect(expired).toMatchObject({ id: first(left).id, decided_by: null });
  expect((await harness.session(left.sessionId)).status).toBe('ready');
  expect(harness.provider.agents).toHaveLength(0);
});

it('A kept approval whose time has passed is declined at the start: its turn is interrupted.', async () => {
  const clock = new ManualClock();
  const [harness, left] = await afterCrash((harness) => ask(harness), {
    before: { clock, config: { approvals: { timeout_ms: 60_000 } } },
    after: { clock: new ManualClock(clock.now() + 60_000) },
  });
  harness.clock.advance(0);
  await harness.until(endOf(left.turnId));
  expect(await news(harness, left)).toEqual(['approval.resolved', 'turn.interrupted']);
  expect(await harness.approvals('?status=expired')).toMatchObject([
    { id: first(left).id, decision: 'decline', decided_by: null },
  ]);
  expect((await harness.session(left.sessionId)).status).toBe('ready');
  expect(await harness.recovery()).toMatchObject({
    approvals_cancelled: [],
    turns_failed: [],
    sessions_failed: [],
  });
  const turn = await harness.startTurn({ id: left.sessionId }, 'next');
  turn.end(completed);
});

it('A kept approval has at most its whole time left if the clock was set back.', async () => {
  const clock = new ManualClock();
  const [harness, left] = await afterCrash((harness) => ask(harness), {
    before: { clock, config: { approvals: { timeout_ms: 60_000 } } },
    after: { clock: new ManualClock(clock.now() - 10 ** 12) },
  });
  harness.clock.advance(59_999);
  expect((await harness.approvals()).map(({ id }) => id)).toEqual([first(left).id]);
  harness.clock.advance(1);
  await harness.until(endOf(left.turnId));
  expect(await harness.approvals('?status=expired')).toHaveLength(1);
});

it('A kept approval expires beside one whose time has passed: the turn is interrupted.', async () => {
  const clock = new ManualClock();
  const [harness, { sessionId, eventsBefore }] = await afterCrash(
    async (harness) => {
      const { id: sessionId } = await harness.open();
      const turn = await harness.startTurn({ id: sessionId });
      void turn.ask();
      await harness.asked(sessionId);
      harness.clock.advance(50_000);
      void turn.ask({ title: 'another' });
      await harness.asked(sessionId, 2);
      return { sessionId, eventsBefore: (await harness.events(sessionId)).length };
    },
    {
      before: { clock, config: { approvals: { timeout_ms: 60_000 } } },
      after: { clock: new ManualClock(clock.now() + 60_000) },
    },
  );
  expect((await harness.recovery()).approvals_kept).toHaveLength(2);
  harness.clock.advance(0);
  await harness.until(({ kind }) => kind === 'turn.interrupted');
  const resolved = (await harness.events(sessionId)).slice(eventsBefore, eventsBefore + 2);
  expect(resolved.map(({ payload }) => payload.approval)).toMatchObject([
    { status: 'expired' },
    { status: 'cancelled' },
  ]);
  expect((await harness.session(sessionId)).status).toBe('ready');
});

it('A kept approval is not requested again: earlier items are closed, and nothing else happens.', async () => {
  const [harness, { id, eventsBefore }] = await afterCrash(async (harness) => {
    const { id } = await harness.open();
    const turn = await harness.startTurn({ id });
    void turn.sink.update({ type: 'message', text: 'I want to ' });
    void turn.sink.update({
      type: 'tool',
      ref: 't1',
      change: { title: 'write', status: 'pending' },
    });
    void turn.ask();
    await harness.asked(id);
    return { id, eventsBefore: kinds(await harness.events(id)) };
  });
  const events = await harness.events(id);
  expect(kinds(events)).toEqual([...eventsBefore, 'tool.completed']);
  expect(events.at(-1)?.payload).toMatchObject({ status: 'interrupted' });
  expect((await harness.session(id)).status).toBe('waiting_for_approval');
  expect(harness.provider.agents).toHaveLength(0);
});

it('The answers to a kept question are in the prompt of the resumed agent.', async () => {
  const question = { kind: 'question' as const, title: 'Colour?', request: { id: 'q1' } };
  const [harness, left] = await afterCrash((harness) => ask(harness, [question]));
  const answers = { q1: ['blue'] };
  await harness.decide(first(left), 'accept', { answers });
  const turn = await harness.provider.nextTurn();
  expect(turn.text).toContain(SENTENCE);
  expect(turn.text).toContain(JSON.stringify(answers));
  // It asks again, since its first question died with it.
  expect(await turn.ask(question)).toEqual({ decision: 'accept', scope: 'once', answers });
});

it('Only the last acceptance of several kept approvals starts the agent, with all of them.', async () => {
  const [harness, left] = await afterCrash((harness) =>
    ask(harness, [{ title: 'first' }, { title: 'second' }]),
  );
  await harness.decide(first(left), 'accept');
  expect((await harness.session(left.sessionId)).status).toBe('waiting_for_approval');
  expect(harness.provider.agents).toHaveLength(0);
  await harness.decide(left.approvals[1] as Approval, 'accept');
  const { text } = await harness.provider.nextTurn();
  expect(text).toMatch(/first\n[^]*second\n/);
});

it('Declining one of several kept approvals interrupts the turn and cancels the others.', async () => {
  const [harness, left] = await afterCrash((harness) =>
    ask(harness, [{ title: 'first' }, { title: 'second' }]),
  );
  await harness.decide(first(left), 'decline');
  await harness.until(endOf(left.turnId));
  expect(await news(harness, left)).toEqual([
    'approval.resolved',
    'approval.resolved',
    'turn.interrupted',
  ]);
  expect((await harness.approvals('?status=cancelled')).map(({ title }) => title)).toEqual([
    'second',
  ]);
});

it('Accepting a kept approval fails turn and session if the provider has lost the session.', async () => {
  const [harness, left] = await afterCrash((harness) => ask(harness));
  harness.provider.refuseOpen(new ProviderError('resume_failed', 'it is gone'));
  expect((await harness.decide(first(left), 'accept')).status).toBe(200);
  await harness.until(endOf(left.turnId));
  expect(await news(harness, left)).toEqual(['approval.resolved', 'turn.failed', 'session.failed']);
  expect(await harness.turn(left.sessionId, left.turnId)).toMatchObject({
    status: 'failed',
    error: { code: 'resume_failed' },
  });
  expect(await harness.session(left.sessionId)).toMatchObject({
    status: 'failed',
    failure: { code: 'resume_failed' },
  });
});

it('The approval is accepted and the server dies again before the agent has the answer: the next start delivers it.', async () => {
  await using dead = await killed((harness) => ask(harness));
  const [harness] = await afterCrash(
    async (harness) => {
      await harness.decide(first(dead.left), 'accept');
    },
    {
      before: {
        directory: dead.directory,
        agents: { opening: () => new Promise(() => undefined) },
      },
    },
  );

  const turn = await harness.provider.nextTurn();
  expect(turn.text).toContain(SENTENCE);
  turn.end(completed);
  expect((await harness.until(endOf(dead.left.turnId))).kind).toBe('turn.completed');
});

it('A pending approval fails with its turn and session if the provider cannot resume.', async () => {
  const agentOptions: ScriptedOptions = { capabilities: { resume: false } };
  const [harness, left] = await afterCrash((harness) => ask(harness), {
    before: { agents: agentOptions },
    after: { agents: agentOptions },
  });
  expect(await news(harness, left)).toEqual(['approval.resolved', 'turn.failed', 'session.failed']);
  expect(await harness.approvals('?status=cancelled')).toHaveLength(1);
  expect((await harness.session(left.sessionId)).status).toBe('failed');
  const recovery = await harness.recovery();
  expect(recovery).toMatchObject({
    turns_failed: [left.turnId],
    approvals_kept: [],
    approvals_cancelled: [first(left).id],
    sessions_failed: [{ session_id: left.sessionId }],
  });
  expect((await harness.decide(first(left), 'accept')).body.code).toBe('approval_resolved');
});

/** Accepts an approval of such a session, and resolves with the turn of the resumed agent. */
const resume = async () => {
  const [harness, left] = nextOne();
  await harness.decide(first(left), 'accept');
  return { harness, turn: await harness.provider.nextTurn(), left };
};
/** The approvals of its session with a status. */
const approvals = async (harness: Harness, { sessionId }: Left, status: string) =>
  (await harness.get<Approval[]>(`/v1/sessions/${sessionId}/approvals?status=${status}`)).body;

it('Such an acceptance answers one equal request, and the next equal one is a new approval.', async () => {
  const { harness, turn, left } = await resume();
  expect((await turn.ask()).decision).toBe('accept');
  expect(await approvals(harness, left, 'pending')).toEqual([]);
  const again = turn.ask();
  const approval = await harness.asked(left.sessionId, 2);
  expect(approval.id).not.toBe(first(left).id);
  await harness.decide(approval, 'decline');
  expect((await again).decision).toBe('decline');
});

it('An acceptance ignores the wording: kind and subject make requests equal.', async () => {
  const { turn } = await resume();
  const answer = await turn.ask({ title: 'other words', request: { anything: true } });
  expect(answer.decision).toBe('accept');
});

it.each([
  ['kind', { kind: 'command' as const }],
  ['tool', { subject: { tool: 'delete', path: 'notes.txt' } }],
  ['arguments', { subject: { tool: 'write', path: 'other.txt' } }],
  ['arguments, one more', { subject: { tool: 'write', path: 'notes.txt', mode: 0o777 } }],
])('An acceptance does not cover a request with another %s.', async (_what, request) => {
  const { harness, turn, left } = await resume();
  const answer = turn.ask(request);
  const approval = await harness.asked(left.sessionId, 2);
  expect(approval.status).toBe('pending');
  await harness.decide(approval, 'decline');
  expect((await answer).decision).toBe('decline');
  // The other is still good.
  expect((await turn.ask()).decision).toBe('accept');
});

it('An acceptance does not cover a request without a subject.', async () => {
  const [harness, left] = await afterCrash((harness) => ask(harness, [{ subject: null }]));
  await harness.decide(first(left), 'accept');
  const turn = await harness.provider.nextTurn();
  const answer = turn.ask({ subject: null });
  const approval = await harness.asked(left.sessionId, 2);
  await harness.decide(approval, 'accept');
  expect((await answer).decision).toBe('accept');
});

it('An acceptance is held until the agent has it, or its turn has ended.', async () => {
  const [harness, left] = await afterCrash((harness) =>
    ask(harness, [{ title: 'first' }, { title: 'second' }]),
  );
  expect((await harness.decide(first(left), 'accept')).body.held).toBe(true);
  await harness.decide(left.approvals[1] as Approval, 'decline');
  await harness.until(endOf(left.turnId));
  expect(await harness.approvals('?status=accepted')).toMatchObject([{ held: false }]);
});

it('An acceptance covers one request, also if its scope is the session.', async () => {
  const [harness, left] = nextOne();
  const { body } = await harness.decide(first(left), 'accept', { scope: 'session' });
  expect(body).toMatchObject({ held: true, scope: 'once' });
  const turn = await harness.provider.nextTurn();
  expect(await turn.ask()).toEqual({ decision: 'accept', scope: 'once', answers: null });
});

it('Such an acceptance lapses with its turn.', async () => {
  const { harness, turn, left } = await resume();
  await harness.complete(turn);
  expect(await approvals(harness, left, 'accepted')).toMatchObject([{ held: false }]);
  const next = await harness.startTurn({ id: left.sessionId }, 'next');
  void next.ask();
  expect((await harness.asked(left.sessionId, 2)).status).toBe('pending');
});

it('An acceptance for a running agent is used up, and answers no later request.', async () => {
  const [harness, { id, approval }] = await afterCrash(async (harness) => {
    const { id } = await harness.open();
    const turn = await harness.startTurn({ id });
    const used = turn.ask({ title: 'used', subject: { tool: 'used' } });
    await harness.decide(await harness.asked(id), 'accept');
    await used;
    void turn.ask({ title: 'pending', subject: { tool: 'pending' } });
    return { id, approval: await harness.asked(id, 2) };
  });
  await harness.decide(approval, 'accept');
  const turn = await harness.provider.nextTurn();
  expect(turn.text).not.toContain('used');
  void turn.ask({ title: 'used', subject: { tool: 'used' } });
  expect((await harness.asked(id, 3)).status).toBe('pending');
});
