import type { Keys } from '../help.tsx';

/** The keys that are not shown by their names. */
const labels: Readonly<Record<string, string>> = {
  ' ': 'space',
  return: '⏎',
  leftArrow: '←',
  rightArrow: '→',
};

/** A row of the help: keys, their meaning, and the name of the action of each key. */
interface KeyRow {
  keys: string;
  meaning: string;
  /** The names by the name of the key in a KeyTable; absent for keys that only move, or belong to a dialog. */
  actions?: Readonly<Record<string, string>>;
}

/** The keys of the screen. The help, the hints and the command palette are made from this table. */
const rows = [
  { keys: '↑ ↓ k j', meaning: 'Previous row, next row' },
  { keys: 'pgup pgdn g G', meaning: 'Previous page, next page; first row, last row' },
  {
    keys: ':',
    meaning: 'Command palette: run an action, or go to a row',
    actions: { ':': 'palette' },
  },
  {
    keys: '1 2 3 4 5',
    meaning: 'Show rows: needs you, running, idle, ended, all',
    actions: {
      1: 'show needs you',
      2: 'show running',
      3: 'show idle',
      4: 'show ended',
      5: 'show all',
    },
  },
  { keys: 'tab', meaning: 'Next row that needs you', actions: { tab: 'next' } },
  {
    keys: '/',
    meaning: 'Filter rows by title, id, directory or last message',
    actions: { '/': 'filter' },
  },
  {
    keys: 's',
    meaning: 'Sort rows: by creation, attention, last activity, or title',
    actions: { s: 'sort' },
  },
  {
    keys: '← →',
    meaning: 'Collapse or expand a section',
    actions: { leftArrow: 'collapse', rightArrow: 'expand' },
  },
  {
    keys: '⏎',
    meaning: 'Go to the pane; q or esc returns to the list',
    actions: { return: 'open' },
  },
  {
    keys: 'space',
    meaning: 'Mark the row; d, x and p then act on all marked rows, esc clears the marks',
    actions: { ' ': 'mark' },
  },
  {
    keys: '+',
    meaning: 'Show or hide the pane; on a wide screen, hide the list',
    actions: { '+': 'pane' },
  },
  { keys: 'i', meaning: 'Send a prompt to the session', actions: { i: 'prompt' } },
  { keys: '  ^J', meaning: 'New line; ⏎ sends the prompt, esc keeps the draft' },
  { keys: '  ↑ ↓ ^R', meaning: 'Earlier prompts; ^R searches for the text in the line' },
  { keys: 'n', meaning: 'New session; ^S creates it', actions: { n: 'new session' } },
  { keys: '  ^R', meaning: 'In the field cwd: directories of recent sessions' },
  {
    keys: 'a d',
    meaning: 'Show the request, to approve or decline it',
    actions: { a: 'approve', d: 'decline' },
  },
  {
    keys: 'x',
    meaning: 'Stop: y interrupts the turn, or kills the process',
    actions: { x: 'stop' },
  },
  { keys: 'x x', meaning: 'Close the session' },
  {
    keys: 'r',
    meaning: 'Restart a process; resume a failed session',
    actions: { r: 'restart' },
  },
  { keys: 'p', meaning: 'Pin or unpin a session', actions: { p: 'pin' } },
  { keys: 'z', meaning: 'Snooze a session for a time, or wake it', actions: { z: 'snooze' } },
  {
    keys: 'm',
    meaning: 'Mute or unmute a session: no bell, no notification',
    actions: { m: 'mute' },
  },
  { keys: 'R', meaning: 'Rename a session', actions: { R: 'rename' } },
  {
    keys: 'c',
    meaning: 'Model and mode, from the next turn on',
    actions: { c: 'mode' },
  },
  {
    keys: 'w',
    meaning: 'Queue of a session: J K move, e edit, p pause, x drop',
    actions: { w: 'queue' },
  },
  {
    keys: '! O',
    meaning: 'Shell, or $EDITOR, in the directory of the row; on this machine only',
    actions: { '!': 'shell', O: 'editor' },
  },
  {
    keys: 'D',
    meaning: 'Diff of a session, with comments on its lines',
    actions: { D: 'diff' },
  },
  { keys: '  v c x', meaning: 'Select lines; comment on them; drop a comment' },
  { keys: '  s e r', meaning: 'Send all comments as one turn; edit in $EDITOR; reload' },
  { keys: '  ] [ } {', meaning: 'Next and previous hunk, file; tab: next comment' },
  {
    keys: 'M',
    meaning: 'Merge the worktree: s squash, b rebase, c commit, y confirm',
    actions: { M: 'merge' },
  },
  {
    keys: 'y',
    meaning: 'Copy an id, the last answer, a code block or the visible text',
    actions: { y: 'copy' },
  },
  {
    keys: 'S',
    meaning: 'Save the whole conversation or log to a file',
    actions: { S: 'save' },
  },
  {
    keys: 'f',
    meaning: 'Search all sessions; ⏎ opens the result',
    actions: { f: 'search' },
  },
  { keys: 'e', meaning: 'Events of the row; q returns to the screen', actions: { e: 'events' } },
  {
    keys: 'E',
    meaning: 'Events of all sessions, processes and teams',
    actions: { E: 'all events' },
  },
  {
    keys: 'u',
    meaning: 'Usage by day, session, provider or team; budgets',
    actions: { u: 'usage' },
  },
  { keys: 'v', meaning: 'Server: status, version, memory, events', actions: { v: 'server' } },
  { keys: '?', meaning: 'All keys and symbols', actions: { '?': 'help' } },
  { keys: '^Z', meaning: 'Suspend; fg resumes' },
  { keys: 'q ^C', meaning: 'Back; quit', actions: { q: 'quit' } },
] as const satisfies readonly KeyRow[];

type RowWithActions = Extract<(typeof rows)[number], { actions: object }>;
type KeysOf<R> = R extends { actions: infer A } ? keyof A : never;

/** The name of a key that carries out an action of the screen. */
export type ActionKey = `${KeysOf<RowWithActions>}`;

/** An action of the screen. */
export interface Action {
  key: ActionKey;
  /** The key as it is shown. */
  label: string;
  name: string;
  meaning: string;
}

/** The rows of the help. */
export const screenKeys: Keys = rows.map(({ keys, meaning }) => [keys, meaning]);

export const actions: readonly Action[] = rows.flatMap((row: KeyRow) =>
  Object.entries(row.actions ?? {}).map(([key, name]) => ({
    key: key as ActionKey,
    label: labels[key] ?? key,
    name,
    meaning: row.meaning,
  })),
);

/** A key and its action, in a few words. `name` replaces the name of the action. */
export function hint(key: ActionKey, name?: string): string {
  const action = actions.find((one) => one.key === key);
  return `${action?.label ?? key} ${name ?? action?.name ?? ''}`;
}
