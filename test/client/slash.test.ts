import { expect, test } from 'vitest';
import { slashCompleted, slashMatches, slashText } from '../../src/client/slash.ts';

const command = (name: string, hint: string | null = null) => ({ name, description: '', hint });
const commands = [command('plan', 'of what'), command('planet'), command('test'), command('b ad')];

test('A slash command is completed as far as it is clear, and never within other text.', () => {
  expect(slashCompleted('/', commands)).toBe('/');
  expect(slashCompleted('/p', commands)).toBe('/plan');
  expect(slashCompleted('/t', commands)).toBe('/test ');
  for (const text of ['', 'p', 'say /p', '/plan x', '/x', '/b'])
    expect(slashCompleted(text, commands)).toBe(text);
  expect(slashMatches('/plan', commands).map(slashText)).toEqual(['/plan of what', '/planet']);
});
