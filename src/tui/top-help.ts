import type { Keys } from './help.tsx';

/** The keys of the overview. */
export const topKeys: Keys = [
  ['up down j k', 'to another line'],
  ['enter', 'the events of it; q there comes back'],
  ['e', 'the events of everything'],
  ['a d', 'accept, decline what waits, with a reason if you like'],
  ['i', 'interrupt what a session is at'],
  ['x', 'end a process and all it started'],
  ['q ctrl-c', 'leave'],
];
