import type { Keys } from '../help.tsx';
import { conversationKeys, logKeys, teamKeys } from '../panes/pane-help.ts';
import { type Standing, standings } from '../list/list-items.ts';
import { symbols } from '../list/row-text.ts';
import { type OwnKeys, ownKeys } from './own-keys.ts';
import type { Pane } from './use-pane.ts';

const paneKeys: Record<Pane['kind'], Keys> = {
  conversation: conversationKeys,
  log: logKeys,
  team: teamKeys,
};

/** The keys of the screen, those of the pane that is open, and the symbols. */
export function keysFor(pane: Pane | null, own: OwnKeys = ownKeys()): Keys {
  return [
    ...own.help(screenKeys),
    ['', ''],
    ['In the pane', ''],
    ...paneKeys[pane?.kind ?? 'conversation'],
    ['', ''],
    ['Symbols', ''],
    ...legend,
  ];
}

const screenKeys: Keys = [
  ['↑ ↓ k j', 'Previous row, next row'],
  ['pgup pgdn g G', 'Previous page, next page; first row, last row'],
  ['1 2 3 4 5', 'Show rows: needs you, running, idle, done, all'],
  ['tab', 'Next row that needs you'],
  ['/', 'Filter rows by title, id, directory or last message'],
  ['s', 'Sort rows: by creation, or by attention'],
  ['← →', 'Collapse or expand a section'],
  ['⏎', 'Go to the pane; q or esc returns to the list'],
  ['space', 'Show or hide the pane; on a wide screen, hide the list'],
  ['i', 'Send a prompt to the session'],
  ['  ^J', 'New line; ⏎ sends the prompt, esc keeps the draft'],
  ['  ↑ ↓ ^R', 'Earlier prompts; ^R searches for the text in the line'],
  ['n', 'New session; ^S creates it'],
  ['  ^R', 'In the field cwd: directories of recent sessions'],
  ['a d', 'Show the request, to approve or decline it'],
  ['x', 'Stop: y interrupts the turn, or kills the process'],
  ['x x', 'Close the session'],
  ['r', 'Restart a process; resume a failed session'],
  ['p', 'Pin or unpin a session'],
  ['z', 'Snooze a session for a time, or wake it'],
  ['m', 'Mute or unmute a session: no bell, no notification'],
  ['R', 'Rename a session'],
  ['w', 'Queue of a session: J K move, e edit, p pause, x drop'],
  ['D', 'Diff of a session, with comments on its lines'],
  ['  v c x', 'Select lines; comment on them; drop a comment'],
  ['  s e r', 'Send all comments as one turn; edit in $EDITOR; reload'],
  ['  ] [ } {', 'Next and previous hunk, file; tab: next comment'],
  ['M', 'Merge the worktree: s squash, b rebase, y confirm'],
  ['y', 'Copy an id, the last answer, a code block or the visible text'],
  ['f', 'Search all sessions; ⏎ opens the result'],
  ['e', 'Events of the row; q returns to the screen'],
  ['E', 'Events of all sessions, processes and teams'],
  ['u', 'Usage by day, session, provider or team; budgets'],
  ['v', 'Server: status, version, memory, events'],
  ['^Z', 'Suspend; fg resumes'],
  ['q ^C', 'Back; quit'],
];

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
