import { expect, test } from 'vitest';
import { partsText } from '../../src/agents/lenient.ts';

test('Content parts are their texts, and other parts their type.', () => {
  const image = { type: 'image', data: 'aGk=' };
  expect(partsText([{ type: 'text', text: 'one' }, image, { text: 'two' }])).toBe(
    'one\n[image]\ntwo',
  );
});

test('A content part whose text or type is not a text is named as something.', () => {
  const odd = { toString: 1 };
  const parts = [{ text: odd }, { type: odd }, { text: [odd] }, null, 'text', 7];
  expect(partsText(parts)).toBe(parts.map(() => '[something]').join('\n'));
});
