import type { Keys } from '../help.tsx';

const readerKeys: Keys = [
  ['↑ ↓ k j', 'Scroll by a line'],
  ['pgup pgdn', 'Scroll by a page; at the top, load older text'],
  ['g G', 'Go to the top; go to the end, and follow new text'],
  ['/ n N', 'Search; previous match, next match; esc ends the search'],
];

/** The keys of the conversation of a session. */
export const conversationKeys: Keys = [
  ...readerKeys,
  ['t', 'Expand or collapse tool calls and reasoning'],
  ['[ ]', 'Previous prompt, next prompt'],
  ['o', 'List the prompts; ⏎ goes to the selected one'],
];

/** The keys of the output of a process. */
export const logKeys: Keys = [
  ...readerKeys,
  ['o', 'Show stdout and stderr, stdout only, stderr only'],
];

/** The keys of a team. */
export const teamKeys: Keys = readerKeys;
