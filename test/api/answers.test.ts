import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { kinds } from '../../src/api/events.ts';
import type { Answer } from '../support/answer-files.ts';
import { DescribedAnswers } from '../support/described-answers.ts';
import { anEvent } from '../support/event-record.ts';

const file = readFileSync(new URL('../../src/api/openapi.yaml', import.meta.url), 'utf8');
const description = parse(file) as object;

const check = new DescribedAnswers(description);
const record = anEvent({ seq: 7, payload: { previous_stop: 'clean' } });
const { input: _input, ...turnWithoutInput } = kinds['turn.accepted'].example.turn;
const cut = {
  ...record,
  kind: 'turn.accepted',
  scope: 'session' as const,
  payload: { title: 'x', turn: turnWithoutInput, truncated: true, total_bytes: 300_000 },
};
const token = {
  id: 'tok_1',
  name: 'ci',
  scope: 'read',
  created_at: 1,
  expires_at: null,
  permission_mode: null,
  last_used_at: null,
};
const list: Answer = {
  method: 'GET',
  url: '/v1/tokens?limit=1',
  status: 200,
  headers: {
    'x-request-id': 'r',
    'x-epoch': 'e',
    'x-seq': '3',
    'content-type': 'application/json; charset=utf-8',
  },
  body: JSON.stringify([token]),
};
const refused = { ...list, status: 400, body: '{"error":"no","code":"invalid"}' };
const stream = {
  ...list,
  url: '/v1/events/stream',
  headers: { ...list.headers, 'content-type': 'text/event-stream; charset=utf-8' },
  body: framesOf(record),
};
const gap = 'event: stream.gap\ndata: {"requested":1,"trimmed_seq":2,"latest_seq":3}\n\n';

test.for(
  Object.entries<Answer>({
    'a list': list,
    'a list whose body is too long to read': { ...list, body: null },
    'a refusal': refused,
    'a refusal without a token': {
      ...list,
      status: 401,
      body: '{"error":"missing or invalid bearer token"}',
    },
    'a refusal of an unknown path': {
      ...refused,
      url: '/v1/nope',
      status: 404,
      body: '{"error":"no","code":"not_found"}',
    },
    'a refusal of a method that a path does not have': {
      ...refused,
      method: 'PUT',
      status: 405,
      body: '{"error":"","code":"method_not_allowed"}',
    },
    'frames of a stream': stream,
    'a gap in a stream': { ...stream, body: gap },
    'a replay': replay(record),
    'a truncated event without its large fields': replay(cut),
  }),
)('The check of answers accepts %s.', ([, answer]) => {
  expect(check.check(answer).wrong).toEqual([]);
});

test.for(
  Object.entries<[answer: Answer, fault: RegExp]>({
    'a status that is not described': [{ ...list, status: 202 }, /answers 202/],
    'a success of an unknown path': [{ ...list, url: '/v1/nope' }, /is a success of no operation/],
    'a header that is missing': [without('x-epoch'), /has no X-Epoch/],
    'a header that is not a number': [
      { ...list, headers: { ...list.headers, 'x-seq': 'x' } },
      /^X-Seq .*integer/,
    ],
    'a header of another route': [
      { ...list, headers: { ...list.headers, 'idempotency-replayed': 'true' } },
      /^Idempotency-Replayed is not described/,
    ],
    'another content type': [{ ...stream, url: list.url }, /is text\/event-stream/],
    'a body that is not JSON': [{ ...list, body: '[' }, /is no JSON/],
    'a field that is missing': [{ ...list, body: '[{"id":"x"}]' }, /\/\* must have .*name/],
    'an unknown field': [
      { ...list, body: JSON.stringify([{ ...token, secret: 'x' }]) },
      /must NOT have additional properties \(secret\)/,
    ],
    'a field of another type': [
      { ...list, body: JSON.stringify([{ ...token, created_at: 'now' }]) },
      /\/created_at must be integer/,
    ],
    'a code that the route does not have': [
      { ...refused, body: refused.body.replace('invalid', 'too_many') },
      /\/code/,
    ],
    'a refusal with more than its code': [
      { ...refused, body: '{"error":"","code":"invalid","x":1}' },
      /\(x\)/,
    ],
    'a 401 with a code': [{ ...refused, status: 401 }, /\(code\)/],
    'a frame that is not a record': [
      { ...stream, body: 'id: 1\nevent: x\ndata: {}\n\n' },
      /\/\*\/data/,
    ],
    'an event without its id': [{ ...stream, body: stream.body.replace('id: 7\n', '') }, /\/\*/],
    'an event whose payload misses a field': [
      { ...stream, body: framesOf({ ...record, payload: {} }) },
      /^\/\*\/data\/payload must have required property 'previous_stop'.* in runtime\.started$/m,
    ],
    'a replayed event whose payload misses a field': [
      replay({ ...record, payload: {} }),
      /^\/\*\/payload must have required property 'previous_stop'/m,
    ],
    'an event without its large fields that is not marked as truncated': [
      replay({ ...cut, payload: { turn: turnWithoutInput } }),
      /payload\/turn must have required property 'input'.* in turn\.accepted/,
    ],
    'an event whose payload has a field that its kind does not have': [
      replay({ ...record, payload: { ...record.payload, turn_id: 'turn_1' } }),
      /payload must NOT have additional properties \(turn_id\)/,
    ],
    'an event with another scope': [
      replay({ ...record, scope: 'session' }),
      /scope must be equal to constant/,
    ],
    'an event of a kind that is not described': [
      replay({ ...record, kind: 'turn.forgotten' }),
      /is of no kind that is described \(turn\.forgotten\)/,
    ],
    'a gap with an id': [{ ...stream, body: `id: 1\n${gap}` }, /\/\*/],
  }),
)('The check of answers finds %s.', ([, [answer, fault]]) => {
  expect(check.check(answer).wrong.join('\n')).toMatch(fault);
});

function framesOf(event: typeof record): string {
  const data = JSON.stringify(event);
  return `retry: 1000\n: ping 6\nid: 7\nevent: ${event.kind}\ndata: ${data}\n\n`;
}

function replay(event: typeof record): Answer {
  return { ...list, url: '/v1/events?limit=1', body: JSON.stringify([event]) };
}

function without(header: string): Answer {
  const { [header]: _, ...headers } = list.headers;
  return { ...list, headers };
}
