import { RequestError } from '@agentclientprotocol/sdk/unstable';
import { expect, it } from 'vitest';
import { limitIn, limitAfterUpdate } from '../../src/agents/acp/outcome.ts';
import { limitAfter, refusedBy } from '../../src/agents/claude-limits.ts';
import { outcomeOf as claudeOutcome } from '../../src/agents/claude/outcome.ts';
import { limitsAfter, reachedLimit } from '../../src/agents/codex/usage.ts';
import { outcomeOf as codexOutcome } from '../../src/agents/codex/outcome.ts';

const AT = 1_795_380_326;
const rejected = { status: 'rejected', resetsAt: AT, rateLimitType: 'five_hour' };
const ofAccount = { resetsAt: AT * 1000, isOfAccount: true };

const loginOf = (id: 'claude' | 'codex') => ({ id, hasOwnHome: false, from: {}, given: {} });

const failure = { type: 'result', subtype: 'success', is_error: true, result: 'no more' };

it.for([
  ['reports the limit', { api_error: 'usage_limit_reached' }, rejected, ofAccount],
  [
    'reports the status 429 and a rejected rate limit',
    { api_error_status: 429 },
    rejected,
    ofAccount,
  ],
  [
    'reports the limit without a reset time',
    { api_error: 'usage_limit_reached' },
    null,
    { resetsAt: null, isOfAccount: true },
  ],
  ['was refused by a busy server', { api_error_status: 429 }, { status: 'rejected' }, undefined],
  ['was near a limit', { api_error_status: 429 }, { ...rejected, status: 'allowed' }, undefined],
  ['failed for another reason', { api_error_status: 500 }, rejected, undefined],
] as const)(
  'The failure of a turn shows whether a usage limit was reached: claude %s.',
  (given) => {
    const [, more, rateLimitInfo, limit] = given;
    const rateLimit = limitAfter(null, { rate_limit_info: rateLimitInfo });
    const outcome = claudeOutcome({ ...failure, ...more }, loginOf('claude'), rateLimit);
    expect(outcome.limit).toEqual(limit);
    expect(outcome.error?.code).toBe(limit ? 'usage_limit' : 'provider_error');
  },
);

it('A limit of one model is not a limit of the account.', () => {
  const limit = refusedBy({ ...rejected, rateLimitType: 'seven_day_opus' });
  expect(limit?.isOfAccount).toBe(false);
});

it('An event that cannot be read does not change the known limit.', () => {
  expect(limitAfter(rejected, { rate_limit_info: 7 })).toBe(rejected);
});

const window = (usedPercent: number, resetsAt: number | null) => ({ usedPercent, resetsAt });
const reportedLimits = (rateLimits: object) => limitsAfter(null, { rateLimits });

it('The reached limit is the window that is used up, or of two the one that resets last.', () => {
  const [primary, secondary] = [window(100, AT), window(40, AT + 9)];
  expect(reachedLimit(reportedLimits({ primary, secondary }), 0)).toEqual(ofAccount);
  const both = reportedLimits({ primary, secondary: window(101, AT + 9) });
  expect(reachedLimit(both, 0).resetsAt).toBe((AT + 9) * 1000);
});

it.for([
  ['no limits were reported', null],
  ['no window is used up', reportedLimits({ primary: window(99, AT), secondary: null })],
  ['the window has reset', reportedLimits({ primary: window(100, 1), secondary: null })],
  ['the window has no time', reportedLimits({ primary: window(100, null), secondary: null })],
] as const)('The reset time is unknown if %s.', ([, limits]) => {
  expect(reachedLimit(limits, 5000).resetsAt).toBeNull();
});

it('A limit of other models is not a limit of the account.', () => {
  const limits = reportedLimits({
    limitId: 'codex_other',
    primary: window(100, AT),
    secondary: null,
  });
  expect(reachedLimit(limits, 0).isOfAccount).toBe(false);
});

it('A turn with too many requests has not reached a usage limit.', () => {
  const ended = (codexErrorInfo: unknown) => {
    const error = { message: 'no more', codexErrorInfo };
    return codexOutcome({ turn: { id: 't', status: 'failed', error } }, null, loginOf('codex'));
  };
  expect(ended('usageLimitExceeded').limit).toEqual({ resetsAt: null, isOfAccount: true });
  const attempts = { responseTooManyFailedAttempts: { httpStatusCode: 429 } };
  expect(ended(attempts).limit).toBeUndefined();
});

const refusal = (data: unknown, message = 'Internal error') =>
  new RequestError(-32_603, message, data);
const update = { sessionUpdate: 'usage_update', _meta: { '_claude/rateLimit': rejected } };
const limitOfAcp = limitAfterUpdate(null, update);

it.for([
  ['codex-acp reports the limit', refusal({ codexErrorInfo: 'usageLimitExceeded' }), null, null],
  [
    'claude was refused after it reported a rejected rate limit',
    refusal({ errorKind: 'rate_limit' }),
    limitOfAcp,
    AT * 1000,
  ],
  [
    'the error message of claude names the limit',
    refusal({ errorKind: 'rate_limit' }, 'Internal error: You\u2019ve hit your limit'),
    null,
    null,
  ],
] as const)('A usage limit is reached if %s.', ([, error, limits, resetsAt]) => {
  expect(limitIn(error, limits)).toEqual({ resetsAt, isOfAccount: true });
});

it.for([
  [
    'the server of the agent is busy',
    refusal({ errorKind: 'rate_limit' }, 'Request rejected (429)'),
  ],
  ['the agent failed for another reason', refusal({ errorKind: 'server_error' })],
  ['the error has no details', refusal(undefined)],
  ['the agent has exited', new Error('gone')],
] as const)('A usage limit is not reached if %s.', ([, error]) => {
  expect(limitIn(error, null)).toBeNull();
});
