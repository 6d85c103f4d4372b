import type { Keys } from '../help.tsx';

const readerKeys: Keys = [
  ['up down j k', 'a line up, down'],
  ['pgup pgdn', 'a page up, down; at the top, read what is before'],
  ['g G', 'to the top; to the end, and follow it'],
  ['/ n N', 'search; to the match before, after; esc ends it'],
];

/** The keys of the conversation of a session. */
export const conversationKeys: Keys = [
  ...readerKeys,
  ['t', 'fold or unfold tools and thoughts'],
  ['[ ]', 'to the prompt before, after'],
  ['o', 'the prompts as a list, to jump to one'],
];

/** The keys of the output of a process. */
export const logKeys: Keys = [...readerKeys, ['o', 'both outputs, stdout alone, stderr alone']];

/** The keys of a team. */
export const teamKeys: Keys = readerKeys;
