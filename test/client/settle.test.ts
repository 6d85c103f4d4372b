import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import type { RuntimeEventRecord } from '../../src/api/events.ts';
import { settle } from '../support/settle.ts';

function event(seq: number, kind: string, item_id?: string): RuntimeEventRecord {
  const ids = {
    session_id: 'sess_1',
    turn_id: null,
    process_id: null,
    worktree_id: null,
    team_id: null,
  };
  const payload = item_id === undefined ? {} : { item_id };
  return { seq, id: `evt_${seq}`, kind, scope: 'session', ...ids, created_at: seq, v: 1, payload };
}

const kinds = fc.constantFrom(
  'message.delta',
  'message.completed',
  'reasoning.delta',
  'reasoning.completed',
  'tool.started',
  'tool.updated',
  'tool.completed',
  'plan.updated',
  'turn.completed',
);
const reading = fc
  .array(fc.tuple(kinds, fc.constantFrom('item_a', 'item_b', 'item_c')), { maxLength: 30 })
  .map((list) => list.map(([kind, item], i) => event(i + 1, kind, item)));

test('A settled reading leaves out the deltas of an item that is closed in the reading, and nothing else.', () => {
  const events = [
    event(1, 'message.delta', 'a'),
    event(2, 'tool.started', 'b'),
    event(3, 'tool.updated', 'b'),
    event(4, 'message.delta', 'open'),
    event(5, 'message.completed', 'a'),
    event(6, 'tool.completed', 'b'),
    event(7, 'plan.updated'),
  ];
  expect(settle(events).map(({ seq }) => seq)).toEqual([2, 4, 5, 6, 7]);
});

test('A settled reading is the same settled twice, keeps the order, and leaves out only deltas.', () => {
  fc.assert(
    fc.property(reading, (events) => {
      const settled = settle(events);
      expect(settle(settled)).toEqual(settled);
      expect(settled.map(({ seq }) => seq)).toEqual(
        settled.map(({ seq }) => seq).toSorted((a, b) => a - b),
      );
      const isDelta = ({ kind }: RuntimeEventRecord) =>
        /delta|updated/.test(kind) && kind !== 'plan.updated';
      expect(settled.filter((one) => !isDelta(one))).toEqual(events.filter((one) => !isDelta(one)));
    }),
  );
});

test('A settled reading makes a reading with deltas equal to one that has lost some of the closed items.', () => {
  fc.assert(
    fc.property(reading, fc.infiniteStream(fc.boolean()), (events, coin) => {
      const kept = new Set(settle(events));
      const lossy = events.filter((one) => kept.has(one) || coin.next().value === true);
      expect(settle(lossy)).toEqual(settle(events));
    }),
  );
});
