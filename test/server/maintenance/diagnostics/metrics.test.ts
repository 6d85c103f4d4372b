import { expect, test } from 'vitest';
import { endpoints } from '../../../../src/api/index.ts';
import { exposition } from '../../../../src/server/maintenance/diagnostics/prometheus.ts';
import { type TestRuntime, testRuntime } from '../../../support/runtime.ts';
import { scripted } from '../../../support/scripted-provider.ts';
import { openSession, runTurn } from '../../../support/turns.ts';
import { send, unauthorized } from '../../../support/http/request.ts';
import { openStream } from '../../../support/http/stream.ts';
import { expectEventually } from '../../../support/expect-eventually.ts';

interface Family {
  type: string;
  help: string;
  samples: { name: string; labels: Record<string, string>; value: number }[];
}

const NAME = '[a-zA-Z_:][a-zA-Z0-9_:]*';
const LABEL = String.raw`[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\["\\n])*"`;
const NUMBER = String.raw`-?\d+(?:\.\d+)?(?:e[+-]?\d+)?`;
const sampleLine = new RegExp(`^(${NAME})(?:\\{(${LABEL}(?:,${LABEL})*)\\})? (${NUMBER})$`);

/** Reads the text format as its description has it; throws for any line that is not so. */
function parse(text: string): Record<string, Family> {
  if (!text.endsWith('\n')) throw new Error('the last line is not ended');
  const families: Record<string, Family> = {};
  const seen = new Set<string>();
  let current = '';
  for (const [at, line] of text.slice(0, -1).split('\n').entries()) {
    const help = new RegExp(`^# HELP (${NAME}) (.*)$`).exec(line);
    const type = new RegExp(`^# TYPE (${NAME}) (counter|gauge|histogram|summary)$`).exec(line);
    const sample = sampleLine.exec(line);
    if (help) {
      current = help[1] ?? '';
      if (families[current]) throw new Error(`line ${at}: ${current} comes twice`);
      families[current] = { help: help[2] ?? '', type: '', samples: [] };
      continue;
    }
    const family = families[current];
    if (type && type[1] === current && family?.type === '') family.type = type[2] ?? '';
    else if (sample && family && ownNames(current, family.type).includes(sample[1] ?? '')) {
      const [, name = '', labels = '', value] = sample;
      const key = `${name}{${labels}}`;
      if (seen.has(key)) throw new Error(`line ${at}: ${key} comes twice`);
      seen.add(key);
      family.samples.push({ name, labels: labelsOf(labels), value: Number(value) });
    } else throw new Error(`line ${at} is none of the format: ${line}`);
  }
  return families;
}

function ownNames(name: string, type: string): string[] {
  if (type === 'histogram') return [`${name}_bucket`, `${name}_sum`, `${name}_count`];
  if (type === 'summary') return [name, `${name}_sum`, `${name}_count`];
  return [name];
}

function labelsOf(text: string): Record<string, string> {
  const pairs = text.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g);
  return Object.fromEntries(
    [...pairs].map(([, name, value = '']) => [
      name,
      value.replaceAll(/\\(.)/g, (_, escaped: string) => (escaped === 'n' ? '\n' : escaped)),
    ]),
  );
}

async function metricsOf({ url, token }: Pick<TestRuntime, 'url' | 'token'>) {
  const reply = await send(url, {
    path: '/metrics',
    headers: { authorization: `Bearer ${token}` },
  });
  expect(reply.status).toBe(200);
  expect(reply.headers['content-type']).toBe('text/plain; version=0.0.4; charset=utf-8');
  const families = parse(reply.text);
  /** The value of a metric, or of one of its samples. */
  const value = (name: string, labels: Record<string, string> = {}) =>
    Object.values(families)
      .flatMap(({ samples }) => samples)
      .find((one) => one.name === name && JSON.stringify(one.labels) === JSON.stringify(labels))
      ?.value;
  return { families, value };
}

test('The metrics have the text format and the naming conventions of Prometheus.', async () => {
  const given = await testRuntime(scripted());
  const { families } = await metricsOf(given);
  expect(Object.keys(families).length).toBeGreaterThan(15);
  for (const [name, { type, help, samples }] of Object.entries(families)) {
    expect(name).toMatch(/^cadre_[a-z_]+$/);
    expect([name, help]).toEqual([name, expect.stringMatching(/\.$/)]);
    expect([name, name.endsWith('_total')]).toEqual([name, type === 'counter']);
    expect(name).not.toMatch(/_(ms|us|kb|mb)(_|$)/);
    for (const { value } of samples) expect([name, value >= 0]).toEqual([name, true]);
  }
});

test('The metrics count events, turns, sessions, agents, streams and requests.', async () => {
  const { given, client, directory } = await testRuntime(scripted());
  const stream = await openStream(given);
  const first = await openSession(client, directory);
  const second = await openSession(client, directory);
  await runTurn(client, first.id, 'hello');
  await client.call(endpoints.closeSession, { params: { session_id: second.id }, body: {} });
  const events = await client.call(endpoints.replayEvents, { query: {} });
  await send(given.url, { path: '/v1/nope', method: 'PROPFIND' });
  const { value } = await metricsOf(given);
  const ofGroup = (group: string) => value('cadre_events_appended_total', { group });
  expect(ofGroup('turn')).toBe(events.filter(({ kind }) => kind.startsWith('turn.')).length);
  expect(ofGroup('session')).toBe(events.filter(({ kind }) => kind.startsWith('session.')).length);
  expect(value('cadre_latest_seq')).toBe(events.at(-1)?.seq);
  expect(value('cadre_turns_ended_total', { status: 'completed' })).toBe(1);
  expect(value('cadre_turns_ended_total', { status: 'failed' })).toBe(0);
  expect(value('cadre_sessions', { status: 'ready' })).toBe(1);
  expect(value('cadre_sessions', { status: 'closed' })).toBe(1);
  expect(value('cadre_agents', { provider: 'acp' })).toBe(1);
  expect(value('cadre_streams')).toBe(1);
  expect(value('cadre_approvals_pending')).toBe(0);
  const requests = { method: 'POST', status: '2xx' };
  await expectEventually(async () =>
    (await metricsOf(given)).value('cadre_http_requests_total', requests),
  ).toBe(4);
  const strange = { method: 'other', status: '4xx' };
  expect((await metricsOf(given)).value('cadre_http_requests_total', strange)).toBe(1);
  stream.close();
});

test('The buckets of a histogram rise up to its count.', async () => {
  const given = await testRuntime(scripted());
  await openSession(given.client, given.directory);
  const { families } = await metricsOf(given);
  const histograms = Object.entries(families).filter(([, { type }]) => type === 'histogram');
  expect(histograms.map(([name]) => name)).toEqual([
    'cadre_store_sync_duration_seconds',
    'cadre_store_group_size_transactions',
  ]);
  for (const [name, { samples }] of histograms) {
    const buckets = samples.filter((one) => one.name.endsWith('_bucket'));
    const values = buckets.map(({ value }) => value);
    expect(values).toEqual(values.toSorted((a, b) => a - b));
    const bounds = buckets.map(({ labels }) => Number(labels.le?.replace('+Inf', 'Infinity')));
    expect(bounds).toEqual(bounds.toSorted((a, b) => a - b));
    expect(bounds.at(-1)).toBe(Number.POSITIVE_INFINITY);
    const count = samples.find((one) => one.name === `${name}_count`)?.value;
    expect(values.at(-1)).toBe(count);
    expect(count).toBeGreaterThan(0);
    expect(samples.find((one) => one.name === `${name}_sum`)?.value).toBeGreaterThan(0);
  }
});

test('No counter ever falls.', async () => {
  const given = await testRuntime(scripted());
  const before = await metricsOf(given);
  const { id } = await openSession(given.client, given.directory);
  await runTurn(given.client, id, 'hello');
  const after = await metricsOf(given);
  for (const [name, { type, samples }] of Object.entries(before.families)) {
    if (type !== 'counter') continue;
    for (const sample of samples)
      expect([name, after.value(name, sample.labels) ?? -1]).toEqual([
        name,
        expect.toSatisfy((value: number) => value >= sample.value),
      ]);
  }
});

test('The metrics need a token, and the scope read is enough.', async () => {
  const given = await testRuntime(scripted());
  for (const headers of [{}, { authorization: 'Bearer nonsense' }]) {
    const reply = await send(given.url, { path: '/metrics', headers });
    expect([reply.status, reply.json()]).toEqual([401, unauthorized]);
  }
  const { secret: token } = await given.client.call(endpoints.createToken, {
    body: { name: 'prometheus', scope: 'read' },
  });
  expect((await metricsOf({ url: given.url, token })).value('cadre_build_info')).toBe(undefined);
});

test('The text format escapes characters that would end a label or a line.', () => {
  const text = exposition([
    {
      type: 'gauge',
      name: 'a_gauge',
      help: 'Two\nlines, and a \\.',
      samples: [{ labels: { path: 'C:\\"x"\ny' }, value: 1.5 }],
    },
  ]);
  expect(text).toBe(
    '# HELP a_gauge Two\\nlines, and a \\\\.\n# TYPE a_gauge gauge\na_gauge{path="C:\\\\\\"x\\"\\ny"} 1.5\n',
  );
  expect(parse(text).a_gauge?.samples[0]?.labels).toEqual({ path: 'C:\\"x"\ny' });
});
