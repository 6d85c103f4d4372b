import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { eventsPage } from '../../scripts/openapi/events-page.ts';
import { payloadSchema, runtimeEventRecord } from '../../src/api/event-schemas.ts';
import { type EventKind, eventKinds, isDescribed, isIn, kinds } from '../../src/api/events.ts';
import { eventRecord, fitPayload } from '../../src/core/events/event.ts';
import { DescribedAnswers } from '../support/described-answers.ts';
import { untypedDraft } from '../support/untyped-events.ts';

const read = (file: string) => readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8');
const check = new DescribedAnswers(parse(read('src/api/openapi.yaml')) as object);

/** The error of an event in the response of a replay. */
function faults(event: object): string[] {
  const headers = { 'x-request-id': 'r', 'x-epoch': 'e', 'x-seq': '3' };
  return check.check({
    method: 'GET',
    url: '/v1/events',
    status: 200,
    headers: { ...headers, 'content-type': 'application/json' },
    body: JSON.stringify([event]),
  }).wrong;
}

/** A list that is too long for any payload, although none of its texts is. */
const many = Array.from({ length: 300 }, () => 'x'.repeat(1000));

function eventOf(kind: EventKind, payload: object) {
  const draft = untypedDraft({ kind, payload: { ...payload } });
  return eventRecord(draft, { seq: 7, id: 'evt_1', now: 1 }).record;
}

test.for(eventKinds)(
  '%s has a description and an example that is valid under its schema.',
  (kind) => {
    const { when, example } = kinds[kind];
    expect(when).toMatch(/^[A-Z].*\.$/);
    const event = eventOf(kind, example);
    expect(faults(event)).toEqual([]);
    expect(runtimeEventRecord.safeParse(event).error).toBeUndefined();
  },
);

test.for(eventKinds)('%s requires each of its fields, except the optional ones.', (kind) => {
  const { payload, example } = kinds[kind];
  for (const [name, schema] of Object.entries(payload)) {
    const rest = Object.fromEntries(Object.entries(example).filter(([key]) => key !== name));
    const mayBeAbsent = schema.safeParse(undefined).success;
    expect([name, faults(eventOf(kind, rest)).length === 0]).toEqual([name, mayBeAbsent]);
  }
});

test.for(eventKinds)('%s is valid under its schema even if its payload was too long.', (kind) => {
  const { example } = kinds[kind];
  const long = fitPayload({ ...example, more: 'x'.repeat(300 * 1024) }, kinds[kind]);
  expect(long).toMatchObject({ ...example, truncated: true });
  const cut = fitPayload({ ...example, more: many }, kinds[kind]);
  expect(cut).not.toHaveProperty('more');
  for (const payload of [long, cut])
    expect(payloadSchema(kinds[kind]).safeParse(payload).error).toBeUndefined();
});

const largeKinds = eventKinds.filter((kind) => kinds[kind].large.length > 0);

test.for(largeKinds)('%s keeps all other fields if its large fields are too long.', (kind) => {
  const { example, large } = kinds[kind];
  const given = structuredClone(example) as Record<string, Record<string, unknown>>;
  const kept = structuredClone(given);
  for (const path of large as readonly string[]) {
    const [name = '', field] = path.split('.');
    if (field === undefined) {
      Object.assign(given, { [name]: many });
      delete kept[name];
    } else {
      Object.assign(given[name] ?? {}, { [field]: many });
      delete kept[name]?.[field];
    }
  }
  const event = eventOf(kind, given);
  expect(event.payload).toEqual({
    ...kept,
    truncated: true,
    total_bytes: expect.any(Number) as number,
  });
  expect(faults(event)).toEqual([]);
  expect(runtimeEventRecord.safeParse(event).error).toBeUndefined();
  expect(faults(eventOf(kind, kept))).not.toEqual([]);
});

test('A kind of event from a newer server is unknown and belongs to no group.', () => {
  const newer = { ...eventOf('turn.started', {}), kind: 'turn.paused' };
  expect([isDescribed(newer), isIn('turn', newer)]).toEqual([false, false]);
  expect(runtimeEventRecord.safeParse(newer).success).toBe(true);
  expect(runtimeEventRecord.safeParse({ ...newer, kind: 'turn.started' }).success).toBe(false);
});

test('docs/events.md is current: run make openapi after a change to the table of kinds.', () => {
  expect(read('docs/events.md')).toBe(eventsPage());
});

test('docs/events.md has a section for each kind and each record, and no broken link.', () => {
  const page = read('docs/events.md');
  const headings = [...page.matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) => heading);
  expect(headings).toEqual(expect.arrayContaining([...eventKinds]));
  const anchors = headings.map((one) => one.toLowerCase().replaceAll('.', '').replaceAll(' ', '-'));
  expect(new Set(anchors).size).toBe(anchors.length);
  const links = [...page.matchAll(/\]\(#([\w-]+)\)/g)].map(([, anchor]) => anchor);
  expect(links.filter((anchor) => !anchors.includes(anchor ?? ''))).toEqual([]);
});
