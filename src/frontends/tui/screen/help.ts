import type { Keys } from '../help.tsx';
import { type Standing, standings } from '../list/list-items.ts';
import { symbols } from '../list/row-text.ts';
import { OwnKeys } from './own-keys.ts';
import type { Pane } from './use-pane.ts';

/** The keys of the screen and of the open pane, and the symbols. */
export function keysFor(pane: Pane | null, own = new OwnKeys()): Keys {
  return [
    ...own.help(),
    ['', ''],
    ['In the pane', ''],
    ...paneKeys[pane?.kind ?? 'conversation'],
    ['', ''],
    ['Symbols', ''],
    ...legend,
  ];
}

const standingNames: Record<Standing, string> = {
  waiting: 'Needs approval',
  failed: 'Failed',
  unseen: 'New output, not seen yet',
  running: 'Running',
  idle: 'Idle',
  snoozed: 'Snoozed',
  done: 'Done',
};

const legend: Keys = [
  ...standings.map((standing) => [symbols[standing][0], standingNames[standing]] as const),
  ['★ m', 'Pinned; muted'],
  ['*', 'Marked row'],
  ['▌', 'Selected row, line or field'],
  ['▾ ▸', 'Expanded section; collapsed section'],
  ['NAME?', 'Server that does not respond'],
  ['>', 'Prompt; in the list of prompts: the selected one'],
  ['… ✓ ✗', 'Tool call: running; completed; failed or interrupted'],
  ['?', 'Approval request in a conversation'],
  ['!', 'Notice; in a diff: stale comment'],
  ['[ ] [>] [x]', 'Step of a plan: pending; in progress; completed'],
  ['│', 'Tool output or quote; in a diff: selected lines'],
  ['┃', 'Comment in a diff'],
  ['● ○', 'Answer to a question: selected; not selected'],
  ['→', 'Sender and recipient; old and new name of a file'],
  ['↻', 'Prompt that repeats on a schedule'],
  ['12+', 'Sum without the turns that reported no numbers'],
  ['…', 'Text that is cut to fit'],
  ['⏎ ^S', 'Enter; Ctrl and S'],
];

const readerKeys: Keys = [
  ['↑ ↓ k j', 'Scroll by a line'],
  ['pgup pgdn', 'Scroll by a page; at the top, load older text'],
  ['g G', 'Go to the top; go to the end, and follow new text'],
  ['/ n N', 'Search; previous match, next match; esc ends the search'],
];

const conversationKeys: Keys = [
  ...readerKeys,
  ['t', 'Expand or collapse tool calls and reasoning'],
  ['[ ]', 'Previous prompt, next prompt'],
  ['o', 'List the prompts; ⏎ goes to the selected one'],
];

const logKeys: Keys = [...readerKeys, ['o', 'Show stdout and stderr, stdout only, stderr only']];

const paneKeys: Record<Pane['kind'], Keys> = {
  conversation: conversationKeys,
  log: logKeys,
  team: readerKeys,
};
