import { describe, expect, it } from 'vitest';
import type { Approval } from '../../../../src/api/approvals.ts';
import { scaled } from '../../../support/patience.ts';
import { atLength } from '../../../support/at-length.ts';
import { completed } from '../../../support/scripted-provider.ts';
import { endOf, testHarness, testSession } from '../../../support/sessions/harness.ts';

/** How often each race is run; `make races` runs it 10,000 times. */
const RACES = Number(process.env.RACES ?? atLength(20, 100, 100));
const AT_ONCE = 20;
/** So many are asked for in one turn. */
const A_TURN = 200;
const timeout = scaled(20_000 + RACES * 50);

describe(`simultaneous requests in ${RACES} races`, () => {
  it('One of two simultaneous decisions of an approval wins.', { timeout }, async () => {
    const harness = await testHarness();
    const won = { accept: 0, decline: 0 };
    let session = await harness.open();
    let turn = await harness.startTurn(session);
    for (let run = 0; run < RACES; run += AT_ONCE) {
      if (run > 0 && run % A_TURN === 0) {
        expect((await harness.session(session.id)).status).toBe('running');
        turn.end(completed);
        session = await harness.open();
        turn = await harness.startTurn(session);
      }
      const each = Array.from({ length: AT_ONCE }, (_, at) => race(run + at));
      for (const decision of await Promise.all(each)) won[decision]++;
    }
    const total = won.accept + won.decline;
    await harness.times('approval.resolved', total);
    expect(total).toBe(Math.ceil(RACES / AT_ONCE) * AT_ONCE);
    expect(harness.seen.filter(({ kind }) => kind === 'approval.resolved')).toHaveLength(total);

    async function race(nth: number): Promise<'accept' | 'decline'> {
      const title = `race ${nth}`;
      const asked = harness.until(
        ({ kind, payload }) =>
          kind === 'approval.requested' && (payload.approval as Approval).title === title,
      );
      const answer = turn.ask({ title });
      const { id } = (await asked).payload.approval as Approval;
      const words = nth % 2 === 0 ? ['accept', 'decline'] : ['decline', 'accept'];
      const replies = await Promise.all(
        words.map((word) => harness.decide({ id, session_id: session.id }, word)),
      );
      const winners = replies.filter(({ status }) => status === 200);
      const losers = replies.filter(({ status }) => status === 409);
      expect([winners.length, losers.length]).toEqual([1, 1]);
      expect(losers[0]?.body.code).toBe('approval_resolved');
      const decision = winners[0]?.body.decision as 'accept' | 'decline';
      expect((await answer).decision).toBe(decision);
      return decision;
    }
  });

  it('One of two simultaneous turns of a session wins.', { timeout }, async () => {
    const { harness, session } = await testSession();
    let last: string | null = null;
    for (let run = 0; run < RACES; run++) {
      // Every other time both have read the session before: the guard is looked at first.
      const guard: object = run % 2 === 1 ? { expected_turn_id: last } : {};
      const body = { input: [{ type: 'text', text: `race ${run}` }], ...guard };
      const replies = await Promise.all([harness.send(session, body), harness.send(session, body)]);
      const winners = replies.filter(({ status }) => status === 200);
      const losers = replies.filter(({ status }) => status === 409);
      expect([winners.length, losers.length]).toEqual([1, 1]);
      expect(losers[0]?.body.code).toBe(run % 2 === 1 ? 'turn_conflict' : 'turn_in_progress');
      last = winners[0]?.body.turn_id ?? '';
      (await harness.provider.nextTurn()).end(completed);
      await harness.until(endOf(last));
    }
    for (const kind of ['turn.accepted', 'turn.started', 'turn.completed'])
      expect(harness.seen.filter((event) => event.kind === kind)).toHaveLength(RACES);
  });
});
