import type { Keys } from './help.tsx';
import { scopes } from './scope.ts';

/** The keys of the page of events. */
export const tailKeys: Keys = [
  ['up down j k', 'to another event; stops following'],
  ['pgup pgdn', 'a page; older ones are read when you come to the top'],
  ['g home, G end', 'to the first that was read; to the end, and follow it'],
  ['space', 'pause: nothing moves, what is new is counted; again: follow'],
  ['enter', 'all of an event; left and right: the one before, the one after'],
  ['/ n N', 'look for a text; the one before it; the one after it; esc: no more'],
  ['f', 'only some kinds, such as: turn tool.completed'],
  ...scopes.map(({ key, noun }) => [key, `only the ${noun} of this event`] as const),
  ['e', 'everything again'],
  ['a d', 'accept, decline what waits, with a reason if you like'],
  ['tab', 'the next that waits'],
  ['q ctrl-c', 'leave'],
];
