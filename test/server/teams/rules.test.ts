import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import type { Delivery, Message } from '../../../src/api/team-messages.ts';
import * as rules from '../../../src/server/teams/delivery.ts';
import { contextRemaining } from '../../../src/server/teams/team.ts';
import { messageInput } from '../../../src/server/teams/dispatcher.ts';
import { aTurn } from '../../support/records.ts';

const error = { code: 'why', message: 'because' };
const ending = fc.constantFrom('completed' as const, 'failed' as const, 'interrupted' as const);

it('A delivery can be retried only if it failed, is deferred, or its turn did not complete.', () => {
  const fresh = rules.newDelivery('dlv_1', { id: 'msg_1', team_id: 'team_1' }, 'sess_1', 1);
  const inTurn = rules.injected(rules.inject(fresh, aTurn(), 2), 3);
  const after = (status: 'completed' | 'failed') =>
    rules.afterTurn(inTurn, aTurn({ status, error: null }), 4);
  const good = [rules.fail(fresh, error, 2), rules.defer(fresh, error, 2), after('failed')];
  const bad = [
    fresh,
    rules.inject(fresh, aTurn(), 2),
    inTurn,
    after('completed'),
    rules.cancel(fresh, 2),
  ];
  for (const one of good)
    expect(rules.retry(one, 5)).toMatchObject({ status: 'pending', error: null });
  for (const one of bad)
    expect(() => rules.retry(one, 5)).toThrow(/^cannot retry delivery dlv_1, which is /);
});

it('A delivery is consumed only by a completed turn, and counts its attempts.', () => {
  const move = fc.oneof(
    fc.record({ to: fc.constantFrom('inject', 'start', 'defer', 'fail', 'retry') }),
    fc.record({ to: fc.constant('end'), status: ending }),
  );
  fc.assert(
    fc.property(fc.array(move, { maxLength: 30 }), (moves) => {
      let one: Delivery = rules.newDelivery('d', { id: 'm', team_id: 't' }, 's', 1);
      let tries = 0;
      for (const [i, { to, ...more }] of moves.entries()) {
        const isIn = one.status === 'injected' && one.consumed_at === null && one.error === null;
        if (to === 'inject' && rules.waits(one)) {
          one = rules.inject(one, aTurn(), i);
          tries++;
        } else if (to === 'start' && one.status === 'injecting') one = rules.injected(one, i);
        else if (to === 'defer' && one.status === 'injecting') one = rules.defer(one, error, i);
        else if (to === 'fail' && rules.waits(one)) one = rules.fail(one, error, i);
        else if (to === 'end' && isIn && 'status' in more)
          one = rules.afterTurn(one, aTurn({ status: more.status, error: null }), i);
        else if (to === 'retry' && (one.error !== null || one.status === 'failed'))
          one = rules.retry(one, i);
        expect(one.attempts).toBe(tries);
        expect(one.injected_turn_id !== null).toBe(one.status.startsWith('inject'));
        if (one.consumed_at !== null) expect([one.status, one.error]).toEqual(['injected', null]);
      }
    }),
  );
});

it('The remaining context is a whole percentage from 0 to 100, or unknown.', () => {
  const usage = (context_tokens: number | null, context_window: number | null) =>
    ({ usage: { context_tokens, context_window } }) as Parameters<typeof contextRemaining>[0];
  expect(contextRemaining(usage(1, 3))).toBe(67);
  for (const unknown of [undefined, usage(null, 10), usage(10, null), usage(1, 0)])
    expect(contextRemaining(unknown)).toBeNull();
  fc.assert(
    fc.property(fc.nat(), fc.integer({ min: 1 }), (held, window) => {
      const left = contextRemaining(usage(held, window)) ?? -1;
      expect(Number.isInteger(left) && left >= 0 && left <= 100).toBe(true);
    }),
  );
});

it('No text and no title opens or closes a frame of its own.', () => {
  const names = fc.constantFrom('team_message', 'team_\u200bmessage');
  const signs = fc.constantFrom('<', '</', '/', ' ', '\n', '\u200b', '>', '"', 'x');
  const piece = fc.oneof(names, signs);
  const text = fc.array(piece, { maxLength: 20 }).map((pieces) => pieces.join(''));
  fc.assert(
    fc.property(text, text, (said, title) => {
      const message = {
        id: 'msg_1',
        sender_agent_id: 'sess_1',
        scope: 'direct',
        team_id: 'team_1',
        input: { type: 'text', text: said },
        images: [],
      } as unknown as Message;
      const [item] = messageInput(message, title);
      const whole = item && 'text' in item ? String(item.text) : '';
      const seen = whole.replaceAll(/\p{Cf}/gu, '');
      expect(seen.match(/<[\s/]*team_message/gi)).toHaveLength(2);
      expect(whole.split('\n')[0]).toMatch(/^<team_message( \w+="[^"<>]*"){5}>$/);
    }),
  );
});
