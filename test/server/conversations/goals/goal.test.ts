import { expect, it } from 'vitest';
import { afterTurn, commandLine } from '../../../../src/server/conversations/goals/goal.ts';
import { aTurn } from '../../../support/records.ts';

const alone = { isRetried: false, isLast: false, isFollowed: false };
const error = (code: string) => ({ code, message: 'why' });

it.for([
  ['is completed', { status: 'completed' }, {}, 'check'],
  ['fails', { status: 'failed', error: error('agent_error') }, {}, 'turn_failed'],
  ['meets a usage limit', { status: 'failed', error: error('usage_limit') }, {}, 'wait'],
  [
    'gets no agent and is tried again',
    { status: 'failed', error: error('provider_unavailable') },
    { isRetried: true },
    'wait',
  ],
  [
    'gets no agent and is not tried again',
    { status: 'failed', error: error('provider_unavailable') },
    {},
    'turn_failed',
  ],
  ['is interrupted by a person', { status: 'interrupted', error: null }, {}, 'interrupted'],
  [
    'makes way for an urgent message',
    { status: 'interrupted', error: null },
    { isFollowed: true },
    'wait',
  ],
  ['ends with its session', { status: 'interrupted', error: null }, { isLast: true }, 'wait'],
  [
    'exceeds its time limit',
    { status: 'interrupted', error: error('turn_timeout') },
    {},
    'turn_failed',
  ],
  [
    'is interrupted by a hard budget',
    { status: 'interrupted', error: error('budget_reached') },
    {},
    'check',
  ],
  [
    'is cut off by a stop of the server',
    { status: 'interrupted', error: error('runtime_stopping') },
    {},
    'check',
  ],
  [
    'is cut off by a kill of the server',
    { status: 'failed', error: error('runtime_restarted') },
    {},
    'check',
  ],
] as const)('A turn that %s decides what its goal does.', ([, end, how, next]) => {
  expect(afterTurn({ ...aTurn(), ...end }, { ...alone, ...how })).toBe(next);
});

it('A long command is cut between two characters.', () => {
  const line = commandLine(`${'x'.repeat(999)}🚀 go`);
  expect(line).toHaveLength(1000);
  expect(line.isWellFormed()).toBe(true);
});
