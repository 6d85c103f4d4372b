import { headers } from '@nats-io/transport-node';
import { anEvent } from '../support/event-record.ts';
import { expect, test } from 'vitest';
import { readEvent, readMessage } from '../../src/fleet/mirrored.ts';

const sound = { 'Cadre-Epoch': 'epoch_1', 'Cadre-Seq': '7', 'Cadre-Prev': '6', 'Cadre-Id': 'e7' };

function read(subject: string, fields: Record<string, string>, text = '{}') {
  const about = headers();
  for (const [name, value] of Object.entries({ ...sound, ...fields }))
    if (value !== '') about.set(name, value);
  return readMessage(subject, about, 1, text);
}

test('A message of the stream is read as its mirror has written it.', () => {
  expect(read('cadre.f.ev.n1.turn.started', {})).toEqual({
    streamSeq: 1,
    node: 'n1',
    kind: 'turn.started',
    epoch: 'epoch_1',
    seq: 7,
    prev: 6,
    id: 'e7',
    text: '{}',
  });
  const mark = '{"from":{"epoch":"epoch_0","seq":9},"to":{"epoch":"epoch_1","after":0}}';
  const place = { 'Cadre-Seq': '0', 'Cadre-Prev': '0', 'Cadre-Id': '' };
  expect(read('cadre.f.ev.n1.fleet.epoch', place, mark)?.kind).toBe('fleet.epoch');
  expect(read('cadre.f.ev.n1.fleet.gap', {}, '{"after":7,"up_to":9}')?.kind).toBe('fleet.gap');
});

test.for([
  ['without headers', 'ev.n1.turn.started', null],
  ['of another subject', 'api.n1.admin.bob', {}],
  ['of a node that can have no such name', 'ev.n\u001B[31m.turn.started', {}],
  ['of no kind', 'ev.n1.turn.\u0007', {}],
  ['without an epoch', 'ev.n1.turn.started', { 'Cadre-Epoch': '' }],
  ['with an epoch that is none', 'ev.n1.turn.started', { 'Cadre-Epoch': 'a b' }],
  ['without a seq', 'ev.n1.turn.started', { 'Cadre-Seq': '' }],
  ['with a seq that is none', 'ev.n1.turn.started', { 'Cadre-Seq': '1e3' }],
  ['with a seq that is too large', 'ev.n1.turn.started', { 'Cadre-Seq': '9999999999999999' }],
  ['that follows itself', 'ev.n1.turn.started', { 'Cadre-Prev': '7' }],
  ['that marks nothing', 'ev.n1.fleet.epoch', {}],
  ['that marks no gap', 'ev.n1.fleet.gap', {}],
] as const)('A message of the stream is passed over %s.', ([, subject, fields]) => {
  const found =
    fields === null
      ? readMessage(`cadre.f.${subject}`, undefined, 1, '{}')
      : read(`cadre.f.${subject}`, fields);
  expect(found).toBeNull();
});

test('The text of an event counts only where it is the event that the headers name.', () => {
  const event = anEvent({ seq: 7, id: 'evt_7', kind: 'runtime.newer_kind' });
  const meant = { seq: 7, kind: event.kind };
  const readAs = (value: unknown) => readEvent(JSON.stringify(value), meant);
  expect(readAs(event)).toEqual(event);
  expect(readAs({ ...event, seq: 8 })).toBeNull();
  expect(readAs({ ...event, kind: 'turn.started' })).toBeNull();
  expect(readAs({ ...event, payload: null })).toBeNull();
  for (const text of ['', 'x', 'null', '[]', '5']) expect(readEvent(text, meant)).toBeNull();
});
