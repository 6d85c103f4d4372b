import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { keysFor } from '../../../src/frontends/tui/screen/help.ts';

const SOURCE = path.join(import.meta.dirname, '../../../src/frontends');
const DRAWING = ['tui/**/*.{ts,tsx}', 'terminal/conversation-lines.ts', 'terminal/review-lines.ts'];

test('The help explains every symbol that the screen draws.', () => {
  const help = keysFor(null).flat().join(' ');
  const files = globSync(DRAWING, { cwd: SOURCE });
  expect(files.length).toBeGreaterThan(80);
  const texts = files.map((file) => readFileSync(path.join(SOURCE, file), 'utf8'));
  const drawn = [...new Set(texts.join('').match(/[\u2190-\u2BFF…·]/g))];
  // A line of dashes only separates the parts of the screen.
  expect(drawn.filter((symbol) => symbol !== '─' && !help.includes(symbol))).toEqual([]);
});
