import { expect, test } from 'vitest';
import { permissionRequest } from '../../../src/frontends/editor/permission.ts';
import type { Approval, ApprovalDetail } from '../../../src/api/approvals.ts';
import { ARGUMENTS_MISSING } from '../../../src/core/lib/arguments-missing.ts';

function asked(details: ApprovalDetail[], more: Partial<Approval> = {}) {
  const approval = {
    id: 'apr_1',
    kind: 'command',
    title: 'run it',
    scopes: ['once', 'session'],
    session_allows: 'the same',
    request: { raw: 'the request' },
    questions: null,
    details,
    ...more,
  } as unknown as Approval;
  const { toolCall, options } = permissionRequest(approval, null);
  return { shown: JSON.stringify(toolCall), options: options.map(({ optionId }) => optionId) };
}

const all = ['once', 'session', 'reject'];
const command = (text: string): ApprovalDetail => ({ type: 'command', command: text, cwd: '/w' });

test.each<[string, ApprovalDetail]>([
  ['a part is omitted', { type: 'omitted', name: 'the command', bytes: 9 }],
  ['a command is too long', command(`evil; ${'x'.repeat(2 ** 20)}`)],
  ['an argument is too long', { type: 'input', name: 'a', value: ['x'.repeat(2 ** 20)] }],
  [
    'a diff with two paths is too long',
    { type: 'diff', path: 'a', diff: `--- a\n+++ b\n@@ -0,0 +1 @@\n+${'x'.repeat(2 ** 20)}\n` },
  ],
])('An editor is offered no acceptance if %s.', (_what, detail) => {
  const { shown, options } = asked([command('ls'), detail]);
  expect(options).toEqual(['reject']);
  expect(shown).toContain('NOT SHOWN');
});

test('An editor shows each path of a change, and a diff without a hunk.', () => {
  const moved = '--- a\n+++ .git/hooks/b\n@@ -1 +1 @@\n-a\n+b\n';
  expect(asked([{ type: 'diff', path: 'a', diff: moved }])).toMatchObject({
    shown: expect.stringContaining('.git/hooks/b') as string,
    options: all,
  });
  expect(asked([{ type: 'diff', path: 'a', diff: 'no hunk' }]).shown).toContain('no hunk');
  const plain = '--- a\n+++ a\n@@ -1 +1 @@\n-a\n+b\n';
  expect(asked([{ type: 'diff', path: 'a', diff: plain }]).shown).not.toContain('```');
});

test('An editor shows hidden characters as code points.', () => {
  const { shown } = asked(
    [command('a\u202eb'), { type: 'input', name: 'x\u009b', value: '\u200by' }],
    {
      title: 'it\u2066',
      session_allows: 's\u2067',
    },
  );
  expect(shown).not.toMatch(/[\u202e\u009b\u200b\u2066\u2067]/);
  expect(shown).toContain('a<U+202E>b');
});

test('An editor shows the whole request of an approval without details, and that arguments are missing.', () => {
  expect(asked([]).shown).toContain('the request');
  expect(asked([], { arguments_missing: true }).shown).toContain(ARGUMENTS_MISSING);
});
