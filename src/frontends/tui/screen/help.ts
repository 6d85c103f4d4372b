import type { Keys } from '../help.tsx';
import { conversationKeys, logKeys, teamKeys } from '../panes/pane-help.ts';
import type { Pane } from './use-pane.ts';

const paneKeys: Record<Pane['kind'], Keys> = {
  conversation: conversationKeys,
  log: logKeys,
  team: teamKeys,
};

/** The keys of the screen, and those of the pane that is open. */
export function keysFor(pane: Pane | null): Keys {
  return [...screenKeys, ['', ''], ['in the pane', ''], ...paneKeys[pane?.kind ?? 'conversation']];
}

const screenKeys: Keys = [
  ['up down j k', 'to another row'],
  ['pgup pgdn g G', 'a page; the first row, the last'],
  ['1 2 3 4 5', 'what needs me, runs, is idle, is done; all'],
  ['tab', 'the next that needs me'],
  ['/', 'only rows with a text in title, id, directory or last words'],
  ['s', 'order: as created; by attention'],
  ['left right', 'fold the section; unfold it'],
  ['enter', 'into the pane; q or esc comes back'],
  ['space', 'peek at the pane; beside the list: the pane alone'],
  ['i', 'say something to the session'],
  ['  ^J', 'there: a new line; enter sends, esc keeps the draft'],
  ['n', 'a new session; ^S creates it'],
  ['  ^R', 'there, in cwd: the directories of recent sessions'],
  ['a d', 'look at what waits, to accept or decline it'],
  ['x', 'stop: y interrupts the turn, or ends the process'],
  ['x x', 'close the session'],
  ['r', 'restart a process; resume a session that failed'],
  ['p', 'pin a session, or unpin it'],
  ['z', 'snooze a session for a time, or wake it'],
  ['m', 'mute a session, or unmute it: no bell, no notification'],
  ['R', 'rename a session'],
  ['w', 'what waits for a session: J K move, e edit, p pause, x drop'],
  ['D', 'what a session has changed, to comment on its lines'],
  ['  v c x', 'there: a range of lines, a comment on them, drop one'],
  ['  s e r', 'send all as one turn; in $EDITOR; read the changes again'],
  ['  ] [ } {', 'next and previous part; file; tab: comment'],
  ['M', 'merge the worktree of a session: s squash, b rebase, y does it'],
  ['y', 'copy: id, last answer, code block, what is visible'],
  ['f', 'find what was said in any session; enter opens it there'],
  ['e', 'the events of it; q there comes back'],
  ['E', 'the events of everything'],
  ['u', 'what turns have used, by day, session, provider or team; the budgets'],
  ['v', 'the server: version, memory, events'],
  ['^Z', 'suspend; fg comes back'],
  ['q ctrl-c', 'back; leave'],
];
