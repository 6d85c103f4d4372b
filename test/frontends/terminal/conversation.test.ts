import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Approval } from '../../../src/api/approvals.ts';
import type { Item, Turn } from '../../../src/api/sessions.ts';
import {
  type Block,
  conversation,
  conversationMarkdown,
  type Notice,
} from '../../../src/frontends/terminal/conversation.ts';
import {
  blockLines,
  conversationLines,
} from '../../../src/frontends/terminal/conversation-lines.ts';
import { colorless } from '../../../src/frontends/terminal/palette.ts';
import { widthOf } from '../../../src/frontends/terminal/width.ts';
import { colors, columns, hasUnsafe, markdown, withoutColors } from './texts.ts';

const turn = {
  turn_id: 'turn_1',
  status: 'interrupted',
  source: 'user',
  input: [{ type: 'text', text: 'fix the tests' }, { type: 'image' }],
  error: null,
  accepted_at: 1,
  trimmed: false,
} as unknown as Turn;

function item(at: number, kind: Item['kind'], text: string, more: Partial<Item> = {}): Item {
  return {
    item_id: `item_${at}`,
    session_id: 's',
    turn_id: 'turn_1',
    kind,
    status: 'completed',
    text,
    tool: null,
    created_at: at,
    completed_at: at,
    ...more,
  };
}

const tool = {
  call_ref: 'c',
  title: 'npm  test\nnow',
  kind: 'execute',
  input: { command: 'npm test' },
};
const blocks = conversation(
  [
    {
      turn,
      items: [
        item(2, 'reasoning', 'hm'),
        item(3, 'message', 'I **look**.'),
        item(4, 'tool', '@@ -1 +1 @@\n-a\n+b\n', { tool }),
        item(6, 'tool', 'no', { tool: { ...tool, title: 'rm' }, status: 'failed' }),
      ],
    },
  ],
  [
    {
      id: 'apr_1',
      turn_id: 'turn_1',
      kind: 'command',
      title: 'rm',
      status: 'declined',
      decided_by: 'api',
      reason: 'not mine',
      created_at: 5,
    } as Approval,
  ],
);

test('A conversation has the prompts, the messages, a line for each tool call, the approvals, and the end of a turn.', () => {
  expect(conversationLines(blocks, { columns: 40, palette: colorless, folded: true })).toEqual([
    '> fix the tests',
    '  [image]',
    '',
    'I look.',
    '',
    '✓ npm test now',
    '? command: rm: declined by you (token a…',
    '✗ rm',
    '',
    'Turn interrupted',
  ]);
});

test('An expanded conversation has the reasoning, and the input and output of tool calls.', () => {
  const lines = conversationLines(blocks, { columns: 40, palette: colorless, folded: false });
  expect(lines.slice(3, 13)).toEqual([
    'hm',
    '',
    'I look.',
    '',
    '✓ npm test now',
    '│ command: npm test',
    '│ @@ -1 +1 @@',
    '│ -a',
    '│ +b',
    '',
  ]);
});

test('A conversation is also printed as a Markdown document.', () => {
  expect(conversationMarkdown(blocks)).toBe(`## You

fix the tests
[image]

## Agent

> hm

I **look**.

- npm test now (completed)

- command: rm: declined by you (token api) (not mine)

- rm (failed)

*Turn interrupted*
`);
});

test('No line of a conversation is wider than the terminal or contains a control character.', () => {
  const block = fc.oneof(
    markdown.map((text): Block => ({ type: 'message', key: 'm', status: 'open', text })),
    markdown.map((text): Block => ({ type: 'thought', key: 'm', status: 'open', text })),
    markdown.map((text): Block => ({
      type: 'prompt',
      key: 'p',
      at: 1,
      source: 'onboarding',
      text,
    })),
    markdown.map((text): Block => ({
      type: 'tool',
      key: 't',
      status: 'open',
      title: text,
      input: { text },
      output: text,
    })),
  );
  fc.assert(
    fc.property(fc.array(block), columns, fc.boolean(), (all, wide, folded) => {
      const lines = conversationLines(all, { columns: wide, palette: colors, folded });
      for (const line of lines) expect(widthOf(line)).toBeLessThanOrEqual(Math.max(4, wide));
      expect(hasUnsafe(lines.map(withoutColors).join('\n'))).toBe(false);
      expect(hasUnsafe(conversationMarkdown(all))).toBe(false);
    }),
  );
});

const located = {
  ...tool,
  title: 'Read',
  locations: [
    { path: '/src/a.ts', line: 12 },
    { path: '/src/b.ts', line: null },
  ],
};
const notice = (at: number, turn_id: string | null, message: string) =>
  ({ id: `evt_${at}`, created_at: at, turn_id, payload: { code: 'warning', message } }) as Notice;
const shown = conversation(
  [{ turn, items: [item(2, 'tool', '', { tool: located })] }],
  [],
  [notice(3, null, 'slow\u001b[2J'), notice(4, 'turn_1', 'full'), notice(5, 'turn_0', 'other')],
);

test('Each notice, also one without a turn, and the locations of a tool call are one line.', () => {
  const shape = { columns: 60, palette: colorless, folded: true };
  expect(conversationLines(shown, shape).slice(2, 6)).toEqual([
    '',
    '✓ Read: /src/a.ts:12, /src/b.ts',
    '! warning: slow',
    '! warning: full',
  ]);
  const unfolded = conversationLines(shown, { ...shape, folded: false });
  expect(unfolded).toContain('│ at: /src/a.ts:12, /src/b.ts');
});

test('Notices and locations are in the Markdown document.', () => {
  const document = conversationMarkdown(shown);
  expect(document).toContain('- Read: /src/a.ts:12, /src/b.ts (completed)');
  expect(document).toContain('- warning: full');
});

test('A location in the title of a tool call is not repeated.', () => {
  const [, block] = conversation([
    { turn, items: [item(2, 'tool', '', { tool: { ...located, title: 'Read a.ts and b.ts' } })] },
  ]);
  expect(block && blockLines(block, { columns: 60, palette: colorless, folded: true })).toEqual([
    '✓ Read a.ts and b.ts',
  ]);
});
