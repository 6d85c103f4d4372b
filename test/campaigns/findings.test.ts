import { expect, test } from 'vitest';
import { compare, type Finding, type KnownFinding, readReport } from './api/findings.ts';

const finding: Finding = {
  operation: 'POST /v1/things',
  check: 'positive_data_acceptance',
  answer: '400 {"error":"no such thing"}',
  request: '',
};
const known: KnownFinding = {
  operation: 'POST /v1/.*',
  check: 'positive_data_acceptance',
  answer: '^400 .*no such thing',
  reason: 'no schema knows which things there are',
};

test('A finding is known only if its operation, its check and its answer match.', () => {
  expect(compare([finding], [known])).toEqual({ unknown: [], unseen: [] });
  for (const other of [
    { operation: 'GET /v1/things' },
    { operation: 'X POST /v1/things' },
    { check: 'not_a_server_error' },
    { answer: '500 {"error":"no such thing"}' },
  ]) {
    const found = { ...finding, ...other };
    expect(compare([found], [known])).toEqual({ unknown: [found], unseen: [known] });
  }
});

test('The report contains failed checks with their answer, errors, and the number of requests per operation.', () => {
  const $base64 = (text: string) => ({ $base64: Buffer.from(text).toString('base64') });
  const id = `thing_${'0'.repeat(32)}`;
  const recorder = {
    label: 'GET /v1/things',
    checks: {
      a: [
        { name: 'not_a_server_error', status: 'success' },
        {
          name: 'negative_data_rejection',
          status: 'failure',
          failure_info: { failure: { operation: 'PUT /v1/things', message: 'why' } },
        },
      ],
    },
    interactions: {
      a: {
        request: { method: 'PUT', uri: 'http://x/v1/things', body: $base64('{}') },
        response: { status_code: 200, content: $base64(`"${id}"`) },
      },
      b: { request: { method: 'GET', uri: 'http://x/v1/things' }, response: null },
    },
  };
  const events = [
    { EngineStarted: {} },
    { ScenarioFinished: { recorder } },
    { ScenarioFinished: { recorder: { label: 'GET /v1/none' } } },
    { NonFatalError: { label: 'GET /v1/things', value: { type: 'FlakyFailure' } } },
    { NonFatalError: { label: 'GET /v1/things', value: { type: 'Timeout' } } },
  ];
  const report = readReport(events.map((event) => JSON.stringify(event)).join('\n'));
  expect(report.findings).toEqual([
    {
      operation: 'PUT /v1/things',
      check: 'negative_data_rejection',
      answer: '200 "ID" (why)',
      request: 'PUT http://x/v1/things {}',
    },
    expect.objectContaining({ operation: 'GET /v1/things', check: 'error' }),
  ]);
  expect([...report.requests]).toEqual([
    ['GET /v1/things', 2],
    ['GET /v1/none', 0],
  ]);
});
