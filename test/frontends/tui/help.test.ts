import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { symbols } from '../../../src/frontends/tui/list/row-text.ts';
import { keysFor } from '../../../src/frontends/tui/screen/body.tsx';

const SOURCE = path.join(import.meta.dirname, '../../../src/frontends');
const DRAWING = ['tui/**/*.{ts,tsx}', 'terminal/conversation-lines.ts', 'terminal/review-lines.ts'];

test('The help and the page of the screen explain every symbol of a row.', () => {
  const page = readFileSync(path.join(SOURCE, '../../docs/screen.md'), 'utf8');
  const legend = page.slice(page.indexOf('## Symbols'));
  const inRows = [...Object.values(symbols).map(([symbol]) => symbol), '★', 'm', '*', '▌'];
  for (const symbol of inRows) {
    expect(legend).toContain(`\`${symbol}\``);
    expect(keysFor(null).some(([shown]) => shown.split(' ').includes(symbol))).toBe(true);
  }
});

test('The help explains every symbol that the screen draws.', () => {
  const help = keysFor(null).flat().join(' ');
  const files = globSync(DRAWING, { cwd: SOURCE });
  expect(files.length).toBeGreaterThan(60);
  const texts = files.map((file) => readFileSync(path.join(SOURCE, file), 'utf8'));
  const drawn = [...new Set(texts.join('').match(/[\u2190-\u2BFF…·]/g))];
  // A line of dashes only separates the parts of the screen.
  expect(drawn.filter((symbol) => symbol !== '─' && !help.includes(symbol))).toEqual([]);
});
