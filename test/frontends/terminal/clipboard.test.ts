import { expect, test } from 'vitest';
import { toClipboard } from '../../../src/frontends/tui/terminal.ts';

function written(text: string, env: Record<string, string> = {}) {
  const out: string[] = [];
  const done = toClipboard({ write: (part) => out.push(part) }, text, env);
  return { done, out: out.join('') };
}

test('A text goes to the clipboard by OSC 52, through tmux as well, unless it is too long for a terminal.', () => {
  expect(written('héllo')).toEqual({ done: true, out: '\u001b]52;c;aMOpbGxv\u0007' });
  expect(written('hi', { TMUX: '/tmp/x,1,0' }).out).toBe(
    '\u001b]52;c;aGk=\u0007\u001bPtmux;\u001b\u001b]52;c;aGk=\u0007\u001b\\',
  );
  expect(written('x'.repeat(60_000))).toEqual({ done: false, out: '' });
});
