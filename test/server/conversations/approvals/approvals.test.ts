import { expect, it } from 'vitest';
import type { Approval } from '../../../../src/api/approvals.ts';
import { writeFile, completed } from '../../../support/scripted-provider.ts';
import { FullDisk } from '../../../support/sessions/faults.ts';
import { ManualClock } from '../../../support/manual-clock.ts';
import {
  endOf,
  kinds,
  sharedHarness,
  type Harness,
  testHarness,
} from '../../../support/sessions/harness.ts';

const question = {
  kind: 'question' as const,
  title: 'Which colour?',
  request: { questions: [{ id: 'q1', text: 'Which colour?' }] },
  subject: { question: 'q1' },
};

// Turns that are left unended keep their agents.
const on = sharedHarness({ config: { providers: { max_live: 1000 } } });

/** The approvals of a session, which are pending where nothing else is asked. */
const approvalsOf = (harness: Harness, session: { id: string }, query = '') =>
  harness.approvals(`?session_id=${session.id}${query}`);

/** A session whose agent has asked once. */
async function asked(given = on()) {
  const { harness, session, turn, turnId } = await given.atWork();
  const answer = turn.ask();
  const approval = await harness.asked(session.id);
  return { harness, session, turn, turnId, answer, approval };
}

it.each([
  ['accept', 'accepted', 'accept'],
  ['accepted', 'accepted', 'accept'],
  ['decline', 'declined', 'decline'],
  ['declined', 'declined', 'decline'],
  ['reject', 'declined', 'decline'],
  ['rejected', 'declined', 'decline'],
])('The decision "%s" makes an approval %s, stored as %s.', async (word, status, decision) => {
  const { harness, approval, answer, session, turn } = await asked();
  const reply = await harness.decide(approval, word);
  expect(reply.status).toBe(200);
  expect(reply.body).toMatchObject({ id: approval.id, status, decision, decided_by: 'api' });
  expect((await answer).decision).toBe(decision);
  const [stored] = await approvalsOf(harness, session, `&status=${status}`);
  expect(stored).toEqual(reply.body);
  turn.end(completed);
});

it('An unknown decision is 400, and the approval stays pending.', async () => {
  const { harness, approval, session } = await asked();
  for (const word of ['approve', 'yes', 'ACCEPT', '', 'cancelled']) {
    const reply = await harness.decide(approval, word);
    expect([reply.status, reply.body.code]).toEqual([400, 'invalid']);
  }
  expect(await approvalsOf(harness, session)).toEqual([approval]);
});

it.each([
  ['accept', 'accept'],
  ['accept', 'decline'],
  ['decline', 'accept'],
  ['decline', 'reject'],
])('After the decision "%s", a later "%s" is 409 approval_resolved.', async (...words) => {
  const [first, second] = words;
  const { harness, approval, answer, session, turn } = await asked();
  const won = await harness.decide(approval, first, { reason: 'first' });
  const lost = await harness.decide(approval, second, { reason: 'second' });
  expect([lost.status, lost.body.code]).toEqual([409, 'approval_resolved']);
  expect((await answer).decision).toBe(first);
  const events = await harness.events(session.id);
  expect(events.filter(({ kind }) => kind === 'approval.resolved')).toHaveLength(1);
  const kept = await approvalsOf(harness, session, `&status=${won.body.status}`);
  expect(kept).toEqual([won.body]);
  turn.end(completed);
});

it('A decision about an unknown approval, or one of another session, answers 404.', async () => {
  const { harness, approval, session } = await asked();
  const other = await harness.open();
  const replies = await Promise.all([
    harness.decide({ id: 'apr_nobody', session_id: session.id }, 'accept'),
    harness.decide({ id: approval.id, session_id: other.id }, 'accept'),
    harness.decide({ id: approval.id, session_id: 'sess_nobody' }, 'accept'),
  ]);
  expect(replies.map(({ status, body }) => `${status} ${body.code}`)).toEqual(
    Array(3).fill('404 not_found'),
  );
  expect((await approvalsOf(harness, session)).map(({ status }) => status)).toEqual(['pending']);
});

it('A decision keeps its reason, and the declined agent receives it.', async () => {
  const { harness, approval, answer } = await asked();
  const reply = await harness.decide(approval, 'decline', { reason: 'not on a Friday' });
  expect(reply.body.reason).toBe('not on a Friday');
  expect(await answer).toEqual({ decision: 'decline', reason: 'not on a Friday' });
});

it('A decision may have a reason of 2000 characters, and not a longer one.', async () => {
  const { harness, approval } = await asked();
  const tooLong = await harness.decide(approval, 'accept', { reason: 'x'.repeat(2001) });
  expect(tooLong.status).toBe(400);
  expect((await harness.decide(approval, 'accept', { reason: 'x'.repeat(2000) })).status).toBe(200);
});

it('A decision with unknown fields is refused with their names.', async () => {
  const { harness, approval } = await asked();
  const reply = await harness.decide(approval, 'accept', { remember: true });
  expect(reply.status).toBe(400);
  expect(reply.body.error).toMatch(/"remember".*decision, scope, reason, answers/);
});

it.each([
  [{}, 'once'],
  [{ scope: 'once' }, 'once'],
  [{ scope: 'session' }, 'session'],
])('An acceptance with %o is stored, and the agent receives it.', async (more, scope) => {
  const { harness, approval, answer, turn } = await asked();
  expect(approval).toMatchObject({ scopes: ['once', 'session'], scope: null });
  expect((await harness.decide(approval, 'accept', more)).body).toMatchObject({ scope });
  expect(await answer).toEqual({ decision: 'accept', scope, answers: null });
  turn.end(completed);
});

it.each([
  [['once'], 'session', 'accept it with scope "once", or decline it'],
  [['session'], 'once', 'accept it with scope "session", or decline it'],
  [[], 'once', 'decline it'],
] as const)(
  'An approval that offers %o refuses the scope "%s" and stays pending.',
  async (...row) => {
    const [scopes, scope, way] = row;
    const { harness, session, turn } = await on().atWork();
    const answer = turn.ask({ scopes });
    const approval = await harness.asked(session.id);
    const reply = await harness.decide(approval, 'accept', { scope });
    expect([reply.status, reply.body.code]).toEqual([400, 'invalid']);
    expect(reply.body.error).toMatch(new RegExp(`^body\\.scope: .*: ${way}$`));
    expect(await approvalsOf(harness, session)).toEqual([approval]);
    expect((await harness.decide(approval, 'decline')).body).toMatchObject({ scope: null });
    expect((await answer).decision).toBe('decline');
    turn.end(completed);
  },
);

it('The details of an approval are stored and returned whole, in the list and by its id.', async () => {
  const { harness, session, turn } = await on().atWork();
  const diff = Array.from({ length: 5000 }, (_, at) => `+line ${at} \u202e\u0000`).join('\n');
  const details = [{ type: 'diff', path: 'a', diff }] as const;
  void turn.ask({ details });
  const approval = await harness.asked(session.id);
  const at = `/v1/sessions/${session.id}/approvals/${approval.id}`;
  const { body } = await harness.get<Approval>(at);
  expect(body.details).toEqual(details);
  expect(await approvalsOf(harness, session)).toEqual([body]);
  expect((await harness.get(`${at}0`)).status).toBe(404);
});

it('Details that are too long for an event are complete in the record, and missing in the event.', async () => {
  const { harness, session, turn } = await on().atWork();
  const parts = Array.from({ length: 3000 }, (_, at) => `echo ${at} ${'x'.repeat(100)}`);
  const details = [{ type: 'command', command: parts.join(' && '), cwd: '/w' }] as const;
  void turn.ask({ details, request: { parts }, subject: { parts } });
  const { details: shown, ...cut } = await harness.asked(session.id);
  const [whole] = await approvalsOf(harness, session);
  expect(whole).toMatchObject({ details, request: { parts }, subject: { parts } });
  const { details: _details, request: _request, subject: _subject, ...rest } = whole ?? {};
  expect([shown, cut]).toEqual([undefined, rest]);
  const reply = await harness.decide(cut, 'accept');
  expect(reply.status).toBe(200);
});

it('Details above 12 MiB name the omitted parts, and cut no part.', async () => {
  const { harness, session, turn } = await on().atWork();
  const small = { type: 'input', name: 'small', value: 1 } as const;
  const command = 'x'.repeat(12 * 1024 * 1024);
  void turn.ask({
    details: [{ type: 'command', command, cwd: null }, { ...small, name: 'one' }, small],
    subject: { small },
  });
  const { details, subject } = await harness.asked(session.id);
  expect(subject).toBeNull();
  expect(details).toEqual([
    { ...small, name: 'one' },
    small,
    { type: 'omitted', name: 'the command', bytes: command.length + 42 },
  ]);
});

it('A question is accepted only with answers, and the agent gets the answers.', async () => {
  const { harness, session, turn } = await on().atWork();
  const answer = turn.ask(question);
  const approval = await harness.asked(session.id);
  const without = await harness.decide(approval, 'accept');
  expect([without.status, without.body.code]).toEqual([400, 'invalid']);
  expect(without.body.error).toContain('answers');
  const answers = { q1: ['blue', 'green'] };
  const reply = await harness.decide(approval, 'accept', { answers });
  expect(reply.body).toMatchObject({ status: 'accepted', answers });
  expect(await answer).toEqual({ decision: 'accept', scope: 'once', answers });
});

it('A question can be declined without answers.', async () => {
  const { harness, session, turn } = await on().atWork();
  const answer = turn.ask(question);
  const approval = await harness.asked(session.id);
  expect((await harness.decide(approval, 'decline')).status).toBe(200);
  expect((await answer).decision).toBe('decline');
});

it('A turn and its session wait for an approval, and continue when it is decided.', async () => {
  const harness = on();
  const session = await harness.open();
  expect(session.status).toBe('ready');
  const turn = await harness.startTurn(session);
  const turnId = (await harness.session(session.id)).active_turn_id ?? '';
  const statuses = async () => [
    (await harness.session(session.id)).status,
    (await harness.turn(session.id, turnId)).status,
  ];
  expect(await statuses()).toEqual(['running', 'running']);
  const answer = turn.ask();
  const approval = await harness.asked(session.id);
  expect(await statuses()).toEqual(['waiting_for_approval', 'waiting_for_approval']);
  await harness.decide(approval, 'accept');
  await answer;
  expect(await statuses()).toEqual(['running', 'running']);
  await harness.complete(turn);
  expect(await statuses()).toEqual(['ready', 'completed']);
});

it('The turn and session wait as long as any of several approvals is pending.', async () => {
  const { harness, session, turn } = await on().atWork();
  const answers = [turn.ask(), turn.ask({ title: 'second' }), turn.ask({ title: 'third' })];
  const all = await Promise.all([1, 2, 3].map((nth) => harness.asked(session.id, nth)));
  const seen: string[] = [];
  for (const [at, approval] of all.toReversed().entries()) {
    await harness.decide(approval, at === 1 ? 'decline' : 'accept');
    seen.push((await harness.session(session.id)).status);
  }
  expect(seen).toEqual(['waiting_for_approval', 'waiting_for_approval', 'running']);
  expect((await Promise.all(answers)).map(({ decision }) => decision)).toEqual([
    'accept',
    'decline',
    'accept',
  ]);
});

it('The request event has the whole approval, and the later event of its resolution omits the request.', async () => {
  const { harness, session, turn, turnId, approval } = await asked();
  const { body: decided } = await harness.decide(approval, 'accept', { reason: 'fine' });
  await harness.complete(turn);
  const events = await harness.events(session.id);
  expect(kinds(events)).toEqual([
    'session.created',
    'turn.accepted',
    'turn.started',
    'approval.requested',
    'approval.resolved',
    'turn.completed',
  ]);
  const [requested, resolved] = events.slice(3, 5);
  const { sessionAllows: session_allows, ...asking } = writeFile;
  expect(requested?.payload.approval).toMatchObject({
    status: 'pending',
    session_allows,
    ...asking,
  });
  expect(requested).toMatchObject({ session_id: session.id, turn_id: turnId, v: 1 });
  const { request: _request, details: _details, subject: _subject, ...form } = decided as Approval;
  expect(resolved?.payload.approval).toEqual(form);
  expect(resolved?.payload.approval).not.toHaveProperty('request');
});

it('The request event of an approval equals its record while it is pending.', async () => {
  const { harness, approval, session } = await asked();
  expect(await approvalsOf(harness, session)).toEqual([approval]);
  expect(approval).toMatchObject({
    status: 'pending',
    decision: null,
    decided_by: null,
    reason: null,
    expires_at: null,
    resolved_at: null,
  });
});

it('The list has the pending approvals of all sessions, newest first, or of one session.', async () => {
  const harness = await testHarness();
  const first = await asked(harness);
  const second = await asked(harness);
  const ids = async (query: string) => (await harness.approvals(query)).map(({ id }) => id);
  expect(await ids('')).toEqual([second.approval.id, first.approval.id]);
  expect(await ids(`?session_id=${first.session.id}`)).toEqual([first.approval.id]);
  await harness.decide(second.approval, 'accept');
  expect(await ids('')).toEqual([first.approval.id]);
  expect(await ids('?status=accepted')).toEqual([second.approval.id]);
  expect(await ids(`?status=accepted&session_id=${first.session.id}`)).toEqual([]);
  const { body } = await harness.get<Approval[]>(`/v1/sessions/${second.session.id}/approvals`);
  expect(body.map(({ id }) => id)).toEqual([second.approval.id]);
});

it('The list of approvals refuses a malformed status and an unknown session.', async () => {
  const harness = on();
  expect((await harness.get('/v1/approvals?status=open')).status).toBe(400);
  expect((await harness.get('/v1/approvals?session_id=sess_nobody')).status).toBe(404);
  expect((await harness.get('/v1/sessions/sess_nobody/approvals')).status).toBe(404);
});

const limited = { config: { approvals: { timeout_ms: 60_000 } } };

it('An approval has an expiry time, and its agent sees it declined then.', async () => {
  const clock = new ManualClock();
  const { harness, approval, answer, session, turnId } = await asked(
    await testHarness({ clock, ...limited }),
  );
  expect(approval.expires_at).toBe(clock.now() + 60_000);
  clock.advance(59_999);
  expect((await harness.approvals()).map(({ id }) => id)).toEqual([approval.id]);
  clock.advance(1);
  expect(await answer).toMatchObject({ decision: 'decline' });
  const [expired] = await harness.approvals('?status=expired');
  expect(expired).toMatchObject({ id: approval.id, status: 'expired', decided_by: null });
  expect((await harness.turn(session.id, turnId)).status).toBe('running');
  const late = await harness.decide(approval, 'accept');
  expect([late.status, late.body.code]).toEqual([409, 'approval_resolved']);
  expect(kinds(await harness.events(session.id)).slice(-2)).toEqual([
    'approval.requested',
    'approval.resolved',
  ]);
});

it('An approval cannot be answered after its time by the wall clock, even if the timers stood still.', async () => {
  const clock = new ManualClock();
  const { harness, approval, answer } = await asked(await testHarness({ clock, ...limited }));
  clock.jump(60_000);
  const late = await harness.decide(approval, 'accept');
  expect([late.status, late.body.code]).toEqual([409, 'approval_resolved']);
  expect(await answer).toMatchObject({ decision: 'decline' });
  const again = await harness.decide(approval, 'accept');
  expect([again.status, again.body.code]).toEqual([409, 'approval_resolved']);
});

it('An approval expires within a minute after the wall clock is set past its time.', async () => {
  const clock = new ManualClock();
  const { harness, approval, answer } = await asked(
    await testHarness({ clock, config: { approvals: { timeout_ms: 600_000 } } }),
  );
  clock.jump(600_000);
  clock.advance(60_000);
  expect(await answer).toMatchObject({ decision: 'decline' });
  const [expired] = await harness.approvals('?status=expired');
  expect(expired).toMatchObject({ id: approval.id });
});

it('An approval whose expiry cannot be stored expires when there is room again.', async () => {
  using disk = new FullDisk();
  const clock = new ManualClock();
  const { harness, approval, answer } = await asked(await testHarness({ clock, ...limited }));
  disk.full = true;
  clock.advance(60_000);
  await harness.logged('cannot store an outcome');
  disk.full = false;
  clock.advance(1000);
  expect(await answer).toMatchObject({ decision: 'decline' });
  expect(await harness.approvals('?status=expired')).toMatchObject([{ id: approval.id }]);
});

it('A decided approval does not expire.', async () => {
  const clock = new ManualClock();
  const { harness, approval, answer, session } = await asked(
    await testHarness({ clock, ...limited }),
  );
  await harness.decide(approval, 'accept');
  await answer;
  clock.advance(120_000);
  await harness.open();
  expect((await harness.approvals('?status=accepted')).map(({ id }) => id)).toEqual([approval.id]);
  const events = await harness.events(session.id);
  expect(events.filter(({ kind }) => kind === 'approval.resolved')).toHaveLength(1);
});

it('An approval that its agent withdraws is cancelled, and the turn continues.', async () => {
  const { harness, session, turn } = await on().atWork();
  const withdrawn = new AbortController();
  const answer = turn.ask({}, withdrawn.signal);
  const approval = await harness.asked(session.id);
  withdrawn.abort();
  expect(await answer).toEqual({ decision: 'cancelled' });
  const [cancelled] = await approvalsOf(harness, session, '&status=cancelled');
  expect(cancelled).toMatchObject({ id: approval.id, status: 'cancelled', decision: null });
  expect((await harness.session(session.id)).status).toBe('running');
  expect((await harness.decide(approval, 'accept')).body.code).toBe('approval_resolved');
});

it('An approval is cancelled if it is withdrawn before it is stored.', async () => {
  const { harness, session, turn } = await on().atWork();
  expect(await turn.ask({}, AbortSignal.abort())).toEqual({ decision: 'cancelled' });
  expect(await approvalsOf(harness, session)).toEqual([]);
  expect((await harness.session(session.id)).status).toBe('running');
});

it('An approval is cancelled before its turn ends.', async () => {
  const { harness, session, turn, answer } = await asked();
  await harness.complete(turn);
  expect(await answer).toEqual({ decision: 'cancelled' });
  expect(kinds(await harness.events(session.id)).slice(-3)).toEqual([
    'approval.requested',
    'approval.resolved',
    'turn.completed',
  ]);
  expect(await approvalsOf(harness, session, '&status=cancelled')).toHaveLength(1);
  expect((await harness.session(session.id)).status).toBe('ready');
});

it('An approval is cancelled when its turn is interrupted.', async () => {
  const { harness, session, turn, turnId, answer } = await asked();
  expect((await harness.interrupt(session.id, turnId)).status).toBe(202);
  expect(await answer).toEqual({ decision: 'cancelled' });
  turn.end({ status: 'interrupted', error: null });
  await harness.until(endOf(turnId));
  expect(kinds(await harness.events(session.id)).slice(-4)).toEqual([
    'approval.requested',
    'turn.interrupt_requested',
    'approval.resolved',
    'turn.interrupted',
  ]);
});

it('An agent that asks outside a turn receives a cancellation, and nothing is stored.', async () => {
  const { harness, session, turn } = await on().atWork();
  await harness.complete(turn);
  expect(await turn.ask()).toEqual({ decision: 'cancelled' });
  expect(kinds(await harness.events(session.id))).not.toContain('approval.requested');
});

it('An agent that asks after the interrupt of its turn receives a cancellation.', async () => {
  const { harness, session, turn, turnId } = await on().atWork();
  await harness.interrupt(session.id, turnId);
  expect(await turn.ask()).toEqual({ decision: 'cancelled' });
  expect(kinds(await harness.events(session.id))).not.toContain('approval.requested');
});
