import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import type { ApprovalDetail } from '../../../src/api/approvals.ts';
import {
  approvalText,
  type ApprovalToShow,
} from '../../../src/frontends/terminal/approval-text.ts';
import { colorless } from '../../../src/frontends/terminal/palette.ts';
import { widthOf } from '../../../src/frontends/terminal/width.ts';
import { colors, columns, hasUnsafe, text, withoutColors } from './texts.ts';

function asked(...details: ApprovalDetail[]): ApprovalToShow {
  const rest = { request: { raw: true }, questions: null, session_allows: null };
  return { kind: 'command', title: 'a title', details, ...rest };
}

test('The text has all lines of a command, and its directory.', () => {
  const command = 'cd build && \\\nmake clean && \\\nrm -rf /precious';
  const sheet = approvalText(asked({ type: 'command', command, cwd: '/srv' }), {
    columns: 20,
    palette: colorless,
  });
  expect(sheet).toEqual([
    'command: a title',
    '',
    'in /srv',
    '  cd build && \\',
    '  make clean && \\',
    '  rm -rf /precious',
  ]);
});

test('The title of a tool call is shown once, unless the heading has only a part of it.', () => {
  const text = (title: string, value: string) =>
    approvalText(
      { ...asked({ type: 'input', name: 'title', value }), kind: 'tool', title },
      { columns: 100, palette: colorless },
    );
  expect(text('Edit a.txt', 'Edit a.txt')).toEqual(['tool: Edit a.txt']);
  expect(text('Edit a.txt: /srv/a.txt', 'Edit a.txt')).toEqual(['tool: Edit a.txt: /srv/a.txt']);
  expect(text('Edit a…', 'Edit a.txt').slice(2)).toEqual(['title:', '  Edit a.txt']);
});

test('The text names omitted parts, and the effect of an acceptance for the session.', () => {
  const detail = { type: 'omitted', name: 'the change to big.bin', bytes: 2_000_000 } as const;
  const sheet = approvalText(
    { ...asked(detail), session_allows: 'edits of any file' },
    { columns: 100, palette: colorless },
  );
  expect(sheet.slice(2)).toEqual([
    'NOT SHOWN (too large): the change to big.bin (2000000 bytes)',
    '',
    'Approval for the session allows: edits of any file',
  ]);
});

test('The text has every character of a command, and hidden characters as code points.', () => {
  fc.assert(
    fc.property(text, fc.integer({ min: 12, max: 100 }), (command, wide) => {
      const sheet = approvalText(asked({ type: 'command', command, cwd: null }), {
        columns: wide,
        palette: colors,
      });
      const lines = sheet.slice(2).map(withoutColors);
      for (const line of sheet) expect(widthOf(line)).toBeLessThanOrEqual(wide);
      expect(hasUnsafe(lines.join(''))).toBe(false);
      const shown = lines.join('').replaceAll(/\s/g, '');
      const back = shown.replaceAll(/<U\+([0-9A-F]{4,6})>/g, (_all, code: string) =>
        String.fromCodePoint(Number.parseInt(code, 16)),
      );
      if (!command.includes('<U+'))
        expect(back.replaceAll(/\s/g, '').normalize()).toBe(
          command.toWellFormed().replaceAll(/\s/g, '').normalize(),
        );
    }),
  );
});

test('The text has the diff, the input of a tool, the questions, or the request without details.', () => {
  const shape = { columns: 40, palette: colorless };
  const diff = '--- a\n+++ a\n@@ -1 +1 @@\n-old\n+new\n';
  expect(approvalText(asked({ type: 'diff', path: 'src/a.ts', diff }), shape).slice(2)).toEqual([
    'src/a.ts',
    '--- a',
    '+++ a',
    '@@ -1 +1 @@',
    '-old',
    '+new',
  ]);
  const input = { type: 'input', name: 'query', value: { limit: 3 } } as const;
  expect(approvalText(asked(input), shape).slice(2)).toEqual([
    'query:',
    '  {',
    '    "limit": 3',
    '  }',
  ]);
  expect(approvalText(asked(), shape).slice(2)).toEqual([
    'request:',
    '  {',
    '    "raw": true',
    '  }',
  ]);
  const question = {
    id: 'q',
    question: 'Which?',
    header: null,
    options: [{ label: 'this', description: 'the first' }],
    free: false,
    multiple: false,
    required: true,
    type: 'text' as const,
  };
  expect(approvalText({ ...asked(), questions: [question] }, shape).slice(2)).toEqual([
    'Which?',
    '  - this: the first',
  ]);
});

test('No line of the text is wider than the terminal, for any diff.', () => {
  fc.assert(
    fc.property(text, columns, (diff, wide) => {
      const lines = approvalText(asked({ type: 'diff', path: diff, diff }), {
        columns: wide,
        palette: colors,
      });
      for (const line of lines) expect(widthOf(line)).toBeLessThanOrEqual(Math.max(4, wide));
      expect(hasUnsafe(lines.map(withoutColors).join(''))).toBe(false);
    }),
  );
});
