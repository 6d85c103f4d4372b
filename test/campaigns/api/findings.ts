import { z } from 'zod';

/** Something that schemathesis holds to be wrong. */
export interface Finding {
  /** `GET /v1/sessions`, or what schemathesis did where it belongs to no operation. */
  operation: string;
  /** The check that failed; `error`: schemathesis could not continue. */
  check: string;
  /** The status and the beginning of the answer, or what schemathesis says of its error. */
  answer: string;
  /** One request that was answered so. */
  request: string;
}

/** A finding that is there to stay, or for now, and why. */
export const knownFinding = z.strictObject({
  operation: z.string().describe('A regular expression for all of the operation.'),
  check: z.string(),
  answer: z.string().describe('A regular expression for a part of the answer.'),
  reason: z.string().min(20),
});
export type KnownFinding = z.output<typeof knownFinding>;

/** Findings of a run. */
export interface Report {
  findings: Finding[];
  /** How many requests each operation was sent. */
  requests: Map<string, number>;
}

/** Faults of a run: unknown findings, and known findings that did not occur. */
export function compare(
  findings: readonly Finding[],
  known: readonly KnownFinding[],
): { unknown: Finding[]; unseen: KnownFinding[] } {
  return {
    unknown: findings.filter((finding) => !known.some((one) => covers(one, finding))),
    unseen: known.filter((one) => !findings.some((finding) => covers(one, finding))),
  };
}

function covers(known: KnownFinding, { operation, check, answer }: Finding): boolean {
  return (
    known.check === check &&
    new RegExp(`^(?:${known.operation})$`).test(operation) &&
    new RegExp(known.answer).test(answer)
  );
}

/** Reads the NDJSON report of schemathesis: an event a line, of which the ends of scenarios have the checks. */
export function readReport(text: string): Report {
  const findings = new Map<string, Finding>();
  const requests = new Map<string, number>();
  const add = (finding: Finding) => {
    const { operation, check, answer } = finding;
    findings.set(JSON.stringify([operation, check, answer]), finding);
  };
  for (const line of text.split('\n').filter(Boolean)) {
    const event = JSON.parse(line) as Record<string, unknown>;
    const scenario = finishedScenario.safeParse(event.ScenarioFinished);
    if (scenario.success) readScenario(scenario.data, add, requests);
    for (const kind of ['NonFatalError', 'FatalError', 'Interrupted'])
      if (event[kind] !== undefined && !isFlaky(event[kind])) add(errorIn(kind, event[kind]));
  }
  return { findings: [...findings.values()], requests };
}

const checkResult = z.looseObject({
  name: z.string(),
  status: z.string(),
  failure_info: z
    .looseObject({
      failure: z.looseObject({ operation: z.string(), message: z.string().nullish() }),
    })
    .nullish(),
});
const encoded = z.looseObject({ $base64: z.string() });
const interaction = z.looseObject({
  request: z.looseObject({
    method: z.string(),
    uri: z.string(),
    body: encoded.nullish(),
  }),
  response: z
    .looseObject({
      status_code: z.int(),
      content: encoded.nullish(),
    })
    .nullish(),
});
const finishedScenario = z.looseObject({
  recorder: z.looseObject({
    label: z.string(),
    cases: z.record(z.string(), z.unknown()).nullish(),
    checks: z.record(z.string(), z.array(checkResult)).nullish(),
    interactions: z.record(z.string(), interaction).nullish(),
  }),
});

function readScenario(
  { recorder }: z.output<typeof finishedScenario>,
  add: (finding: Finding) => void,
  requests: Map<string, number>,
): void {
  const { label, checks, interactions } = recorder;
  for (const [id, results] of Object.entries(checks ?? {})) {
    const { request, response } = interactions?.[id] ?? {};
    const asked = request
      ? `${request.method} ${request.uri} ${textOf(request.body?.$base64 ?? '')}`
      : '';
    const answer = response
      ? `${response.status_code} ${textOf(response.content?.$base64 ?? '')}`
      : 'no answer';
    for (const { name, status, failure_info } of results) {
      const { failure } = failure_info ?? {};
      if (status !== 'failure') continue;
      const said = name === 'positive_data_acceptance' ? '' : ` (${failure?.message ?? ''})`;
      add({
        operation: failure?.operation ?? label,
        check: name,
        answer: `${answer}${said}`,
        request: asked,
      });
    }
  }
  const sent = Object.keys(interactions ?? {}).length;
  requests.set(label, (requests.get(label) ?? 0) + sent);
}

/** The beginning of a body, without the ids that make each one another. */
function textOf(base64: string): string {
  const text = Buffer.from(base64, 'base64').toString('utf8').slice(0, 500);
  return text.replaceAll(/\b[a-z]+_[0-9a-f]{32}\b/g, 'ID');
}

/** Marks a reported failure that did not occur again when it was repeated. */
function isFlaky(error: unknown): boolean {
  return (error as { value?: { type?: string } }).value?.type === 'FlakyFailure';
}

function errorIn(kind: string, value: unknown): Finding {
  const { label } = (value ?? {}) as { label?: string };
  return {
    operation: label ?? kind,
    check: 'error',
    answer: JSON.stringify(value).slice(0, 2000),
    request: '',
  };
}
