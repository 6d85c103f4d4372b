import { expect, test } from 'vitest';
import { needsConfirmation } from '../../../src/core/lib/arguments-missing.ts';

test('An approval with missing arguments or omitted details needs a typed confirmation.', () => {
  const shown = { type: 'command' };
  expect(needsConfirmation({ details: [shown] })).toBe(false);
  expect(needsConfirmation({ details: [shown], arguments_missing: true })).toBe(true);
  expect(needsConfirmation({ details: [shown, { type: 'omitted' }] })).toBe(true);
});
