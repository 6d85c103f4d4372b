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
  onStage,
  type Stage,
  afterCrash,
} from '../../../support/sessions/harness.ts';

const SENTENCE = 'The request below was approved while you were not running. Continue.';

/** The state of a session when the first runtime was killed. */
interface Left {
  sessionId: string;
  turnId: string;
  approvals: Approval[];
  /** Number of events of the session before the kill. */
  told: number;
}

/** A session whose agent has asked for these. */
async function ask(stage: Stage, requests: Partial<AgentRequest>[] = [{}]): Promise<Left> {
  const { session, turn, turnId } = await stage.atWork();
  const sessionId = session.id;
  const approvals: Approval[] = [];
  for (const request of requests) {
    void turn.ask(request);
    approvals.push(await stage.asked(sessionId, approvals.length + 1));
  }
  const told = (await stage.events(sessionId)).length;
  return { sessionId, turnId, approvals, told };
}

/** The kinds of what happened to the session since the new start. */
async function news(stage: Stage, { sessionId, told }: Left): Promise<string[]> {
  return kinds((await stage.events(sessionId)).slice(told));
}

function first({ approvals }: Left): Approval {
  const [approval] = approvals;
  if (!approval) throw new Error('none was asked for');
  return approval;
}

/** A server that died while sessions waited, each for one answer, and the one after it. */
const dead = shared<{ stage: Stage; waiting: Left[] }>('stage', async (use) => {
  await using old = await killed(async (stage) => {
    const waiting: Left[] = [];
    while (waiting.length < 8) waiting.push(await ask(stage));
    return waiting;
  });
  const { directory, left: waiting, at } = old;
  await onStage((stage) => use({ stage, waiting }), { directory, clock: new ManualClock(at) });
});

/** Returns one of these sessions, which no other test uses. */
function nextOne(): [Stage, Left] {
  const { stage, waiting } = dead();
  return [stage, waiting.pop() ?? expect.unreachable()];
}

it('A kept approval expires at its time: the turn is interrupted, and nothing is started.', async () => {
  const clock = new ManualClock();
  const config = { approvals: { timeout_ms: 60_000 } };
  const [stage, left] = await afterCrash((stage) => ask(stage), { before: { clock, config } });
  stage.clock.advance(59_999);
  expect((await stage.approvals()).map(({ id }) => id)).toEqual([first(left).id]);
  stage.clock.advance(1);
  await stage.until(endOf(left.turnId));
  expect(await news(stage, left)).toEqual(['approval.resolved', 'turn.interrupted']);
  const [expired] = await stage.approvals('?status=expired');
  expect(expired).toMatchObject({ id: first(left).id, decided_by: null });
  expect((await stage.session(left.sessionId)).status).toBe('ready');
  expect(stage.provider.agents).toHaveLength(0);
});

it('A kept approval whose time has passed is declined at the start: its turn is interrupted.', async () => {
  const clock = new ManualClock();
  const [stage, left] = await afterCrash((stage) => ask(stage), {
    before: { clock, config: { approvals: { timeout_ms: 60_000 } } },
    after: { clock: new ManualClock(clock.now() + 60_000) },
  });
  stage.clock.advance(0);
  await stage.until(endOf(left.turnId));
  expect(await news(stage, left)).toEqual(['approval.resolved', 'turn.interrupted']);
  expect(await stage.approvals('?status=expired')).toMatchObject([
    { id: first(left).id, decision: 'decline', decided_by: null },
  ]);
  expect((await stage.session(left.sessionId)).status).toBe('ready');
  expect(await stage.recovery()).toMatchObject({
    approvals_cancelled: [],
    turns_failed: [],
    sessions_failed: [],
  });
  const turn = await stage.play({ id: left.sessionId }, 'next');
  turn.end(completed);
});

it('A kept approval has at most its whole time left if the clock was set back.', async () => {
  const clock = new ManualClock();
  const [stage, left] = await afterCrash((stage) => ask(stage), {
    before: { clock, config: { approvals: { timeout_ms: 60_000 } } },
    after: { clock: new ManualClock(clock.now() - 10 ** 12) },
  });
  stage.clock.advance(59_999);
  expect((await stage.approvals()).map(({ id }) => id)).toEqual([first(left).id]);
  stage.clock.advance(1);
  await stage.until(endOf(left.turnId));
  expect(await stage.approvals('?status=expired')).toHaveLength(1);
});

it('A kept approval expires beside one whose time has passed: the turn is interrupted.', async () => {
  const clock = new ManualClock();
  const [stage, { sessionId, told }] = await afterCrash(
    async (stage) => {
      const { id: sessionId } = await stage.open();
      const turn = await stage.play({ id: sessionId });
      void turn.ask();
      await stage.asked(sessionId);
      stage.clock.advance(50_000);
      void turn.ask({ title: 'another' });
      await stage.asked(sessionId, 2);
      return { sessionId, told: (await stage.events(sessionId)).length };
    },
    {
      before: { clock, config: { approvals: { timeout_ms: 60_000 } } },
      after: { clock: new ManualClock(clock.now() + 60_000) },
    },
  );
  expect((await stage.recovery()).approvals_kept).toHaveLength(2);
  stage.clock.advance(0);
  await stage.until(({ kind }) => kind === 'turn.interrupted');
  const resolved = (await stage.events(sessionId)).slice(told, told + 2);
  expect(resolved.map(({ payload }) => payload.approval)).toMatchObject([
    { status: 'expired' },
    { status: 'cancelled' },
  ]);
  expect((await stage.session(sessionId)).status).toBe('ready');
});

it('A kept approval is not requested again: earlier items are closed, and nothing else happens.', async () => {
  const [stage, { id, told }] = await afterCrash(async (stage) => {
    const { id } = await stage.open();
    const turn = await stage.play({ id });
    void turn.sink.update({ type: 'message', text: 'I want to ' });
    void turn.sink.update({
      type: 'tool',
      ref: 't1',
      change: { title: 'write', status: 'pending' },
    });
    void turn.ask();
    await stage.asked(id);
    return { id, told: kinds(await stage.events(id)) };
  });
  const events = await stage.events(id);
  expect(kinds(events)).toEqual([...told, 'tool.completed']);
  expect(events.at(-1)?.payload).toMatchObject({ status: 'interrupted' });
  expect((await stage.session(id)).status).toBe('waiting_for_approval');
  expect(stage.provider.agents).toHaveLength(0);
});

it('The answers to a kept question are in the prompt of the resumed agent.', async () => {
  const question = { kind: 'question' as const, title: 'Colour?', request: { id: 'q1' } };
  const [stage, left] = await afterCrash((stage) => ask(stage, [question]));
  const answers = { q1: ['blue'] };
  await stage.decide(first(left), 'accept', { answers });
  const turn = await stage.provider.nextTurn();
  expect(turn.text).toContain(SENTENCE);
  expect(turn.text).toContain(JSON.stringify(answers));
  // It asks again, since its first question died with it.
  expect(await turn.ask(question)).toEqual({ decision: 'accept', scope: 'once', answers });
});

it('Only the last acceptance of several kept approvals starts the agent, with all of them.', async () => {
  const [stage, left] = await afterCrash((stage) =>
    ask(stage, [{ title: 'first' }, { title: 'second' }]),
  );
  await stage.decide(first(left), 'accept');
  expect((await stage.session(left.sessionId)).status).toBe('waiting_for_approval');
  expect(stage.provider.agents).toHaveLength(0);
  await stage.decide(left.approvals[1] as Approval, 'accept');
  const { text } = await stage.provider.nextTurn();
  expect(text).toMatch(/first\n[^]*second\n/);
});

it('Declining one of several kept approvals interrupts the turn and cancels the others.', async () => {
  const [stage, left] = await afterCrash((stage) =>
    ask(stage, [{ title: 'first' }, { title: 'second' }]),
  );
  await stage.decide(first(left), 'decline');
  await stage.until(endOf(left.turnId));
  expect(await news(stage, left)).toEqual([
    'approval.resolved',
    'approval.resolved',
    'turn.interrupted',
  ]);
  expect((await stage.approvals('?status=cancelled')).map(({ title }) => title)).toEqual([
    'second',
  ]);
});

it('Accepting a kept approval fails turn and session if the provider has lost the session.', async () => {
  const [stage, left] = await afterCrash((stage) => ask(stage));
  stage.provider.refuseOpen(new ProviderError('resume_failed', 'it is gone'));
  expect((await stage.decide(first(left), 'accept')).status).toBe(200);
  await stage.until(endOf(left.turnId));
  expect(await news(stage, left)).toEqual(['approval.resolved', 'turn.failed', 'session.failed']);
  expect(await stage.turn(left.sessionId, left.turnId)).toMatchObject({
    status: 'failed',
    error: { code: 'resume_failed' },
  });
  expect(await stage.session(left.sessionId)).toMatchObject({
    status: 'failed',
    failure: { code: 'resume_failed' },
  });
});

it('The approval is accepted and the server dies again before the agent has the answer: the next start delivers it.', async () => {
  await using dead = await killed((stage) => ask(stage));
  const [stage] = await afterCrash(
    async (stage) => {
      await stage.decide(first(dead.left), 'accept');
    },
    {
      before: {
        directory: dead.directory,
        played: { opening: () => new Promise(() => undefined) },
      },
    },
  );

  const turn = await stage.provider.nextTurn();
  expect(turn.text).toContain(SENTENCE);
  turn.end(completed);
  expect((await stage.until(endOf(dead.left.turnId))).kind).toBe('turn.completed');
});

it('A pending approval fails with its turn and session if the provider cannot resume.', async () => {
  const played: ScriptedOptions = { capabilities: { resume: false } };
  const [stage, left] = await afterCrash((stage) => ask(stage), {
    before: { played },
    after: { played },
  });
  expect(await news(stage, left)).toEqual(['approval.resolved', 'turn.failed', 'session.failed']);
  expect(await stage.approvals('?status=cancelled')).toHaveLength(1);
  expect((await stage.session(left.sessionId)).status).toBe('failed');
  const recovery = await stage.recovery();
  expect(recovery).toMatchObject({
    turns_failed: [left.turnId],
    approvals_kept: [],
    approvals_cancelled: [first(left).id],
    sessions_failed: [{ session_id: left.sessionId }],
  });
  expect((await stage.decide(first(left), 'accept')).body.code).toBe('approval_resolved');
});

/** Accepts an approval of such a session, and resolves with the turn of the resumed agent. */
const resume = async () => {
  const [stage, left] = nextOne();
  await stage.decide(first(left), 'accept');
  return { stage, turn: await stage.provider.nextTurn(), left };
};
/** The approvals of its session with a status. */
const approvals = async (stage: Stage, { sessionId }: Left, status: string) =>
  (await stage.get<Approval[]>(`/v1/sessions/${sessionId}/approvals?status=${status}`)).body;

it('Such an acceptance answers one equal request, and the next equal one is a new approval.', async () => {
  const { stage, turn, left } = await resume();
  expect((await turn.ask()).decision).toBe('accept');
  expect(await approvals(stage, left, 'pending')).toEqual([]);
  const again = turn.ask();
  const approval = await stage.asked(left.sessionId, 2);
  expect(approval.id).not.toBe(first(left).id);
  await stage.decide(approval, 'decline');
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
  const { stage, turn, left } = await resume();
  const answer = turn.ask(request);
  const approval = await stage.asked(left.sessionId, 2);
  expect(approval.status).toBe('pending');
  await stage.decide(approval, 'decline');
  expect((await answer).decision).toBe('decline');
  // The other is still good.
  expect((await turn.ask()).decision).toBe('accept');
});

it('An acceptance does not cover a request without a subject.', async () => {
  const [stage, left] = await afterCrash((stage) => ask(stage, [{ subject: null }]));
  await stage.decide(first(left), 'accept');
  const turn = await stage.provider.nextTurn();
  const answer = turn.ask({ subject: null });
  const approval = await stage.asked(left.sessionId, 2);
  await stage.decide(approval, 'accept');
  expect((await answer).decision).toBe('accept');
});

it('An acceptance is held until the agent has it, or its turn has ended.', async () => {
  const [stage, left] = await afterCrash((stage) =>
    ask(stage, [{ title: 'first' }, { title: 'second' }]),
  );
  expect((await stage.decide(first(left), 'accept')).body.held).toBe(true);
  await stage.decide(left.approvals[1] as Approval, 'decline');
  await stage.until(endOf(left.turnId));
  expect(await stage.approvals('?status=accepted')).toMatchObject([{ held: false }]);
});

it('An acceptance covers one request, also if its scope is the session.', async () => {
  const [stage, left] = nextOne();
  const { body } = await stage.decide(first(left), 'accept', { scope: 'session' });
  expect(body).toMatchObject({ held: true, scope: 'once' });
  const turn = await stage.provider.nextTurn();
  expect(await turn.ask()).toEqual({ decision: 'accept', scope: 'once', answers: null });
});

it('Such an acceptance lapses with its turn.', async () => {
  const { stage, turn, left } = await resume();
  await stage.complete(turn);
  expect(await approvals(stage, left, 'accepted')).toMatchObject([{ held: false }]);
  const next = await stage.play({ id: left.sessionId }, 'next');
  void next.ask();
  expect((await stage.asked(left.sessionId, 2)).status).toBe('pending');
});

it('An acceptance for a running agent is used up, and answers no later request.', async () => {
  const [stage, { id, approval }] = await afterCrash(async (stage) => {
    const { id } = await stage.open();
    const turn = await stage.play({ id });
    const used = turn.ask({ title: 'used', subject: { tool: 'used' } });
    await stage.decide(await stage.asked(id), 'accept');
    await used;
    void turn.ask({ title: 'pending', subject: { tool: 'pending' } });
    return { id, approval: await stage.asked(id, 2) };
  });
  await stage.decide(approval, 'accept');
  const turn = await stage.provider.nextTurn();
  expect(turn.text).not.toContain('used');
  void turn.ask({ title: 'used', subject: { tool: 'used' } });
  expect((await stage.asked(id, 3)).status).toBe('pending');
});
