/** The lines of the help of the screen: the meaning of some keys, and the actions of the keys, or keys that have no action. */
const lines = [
  ['Previous row, next row', '↑ ↓ k j'],
  ['Previous page, next page; first row, last row', 'pgup pgdn g G'],
  ['Command palette: run an action, or go to a row', { palette: ':' }],
  [
    'Show rows: needs you, running, idle, ended, all',
    { show_needs_you: '1', show_running: '2', show_idle: '3', show_ended: '4', show_all: '5' },
  ],
  ['Next row that needs you', { next: 'tab' }],
  ['Filter rows by title, id, directory or last message', { filter: '/' }],
  ['Sort rows: by creation, attention, last activity, or title', { sort: 's' }],
  ['Collapse or expand a section', { collapse: 'leftArrow', expand: 'rightArrow' }],
  ['Go to the pane; q or esc returns to the list', { open: 'return' }],
  ['Mark the row; d, x and p then act on all marked rows, esc clears the marks', { mark: ' ' }],
  ['Show or hide the pane; on a wide screen, hide the list', { pane: '+' }],
  ['Send a prompt to the session', { prompt: 'i' }],
  ['New line; ⏎ sends the prompt, esc keeps the draft', '  ^J'],
  ['Earlier prompts; ^R searches for the text in the line', '  ↑ ↓ ^R'],
  ['New session; ^S creates it', { new_session: 'n' }],
  ['In the field cwd: directories of recent sessions', '  ^R'],
  ['Show the request, to approve or decline it', { approve: 'a', decline: 'd' }],
  ['Stop: y interrupts the turn, or kills the process', { stop: 'x' }],
  ['Close the session', 'x x'],
  ['Restart a process; resume a failed session', { restart: 'r' }],
  ['Pin or unpin a session', { pin: 'p' }],
  ['Snooze a session for a time, or wake it', { snooze: 'z' }],
  ['Mute or unmute a session: no bell, no notification', { mute: 'm' }],
  ['Rename a session', { rename: 'R' }],
  ['Model and mode, from the next turn on', { mode: 'c' }],
  ['Fork a session after one of its turns', { fork: 'F' }],
  ['Queue of a session: J K move, e edit, p pause, x drop', { queue: 'w' }],
  [
    'Shell, or $EDITOR, in the directory of the row; on this machine only',
    { shell: '!', editor: 'O' },
  ],
  ['Diff of a session, with comments on its lines', { diff: 'D' }],
  ['Select lines; comment on them; drop a comment', '  v c x'],
  ['Send all comments as one turn; edit in $EDITOR; reload', '  s e r'],
  ['Next and previous hunk, file; tab: next comment', '  ] [ } {'],
  ['Lines before and after side by side, or unified', '  t'],
  ['Merge the worktree: s squash, b rebase, c commit, y confirm', { merge: 'M' }],
  ['Copy an id, the last answer, a code block or the visible text', { copy: 'y' }],
  ['Save the whole conversation or log to a file', { save: 'S' }],
  ['Search all sessions; ⏎ opens the result', { search: 'f' }],
  ['Events of the row; q returns to the screen', { events: 'e' }],
  ['Events of all sessions, processes and teams', { all_events: 'E' }],
  ['Usage by day, session, provider or team; budgets', { usage: 'u' }],
  ['Server: status, version, memory, events', { server: 'v' }],
  ['All keys and symbols', { help: '?' }],
  ['Suspend; fg resumes', '^Z'],
  ['Back; quit', { quit: 'q' }, '^C'],
] as const satisfies readonly HelpLine[];

type HelpLine = readonly [
  meaning: string,
  /** The actions with their default keys, or keys that cannot be changed; keys of a dialog are indented. */
  keys: Readonly<Record<string, string>> | string,
  /** Keys without an action, after the keys of the actions. */
  more?: string,
];

type ActionsOf<Line> = Line extends readonly [string, infer Keys, ...unknown[]]
  ? Keys extends string
    ? never
    : keyof Keys
  : never;

/** The name of an action of the screen, as the configuration, the palette and the hints have it. */
export type ActionName = ActionsOf<(typeof lines)[number]>;

/** A line of the help: the actions whose keys it explains, or the keys. */
export interface ExplainedKeys {
  meaning: string;
  actions: readonly ActionName[];
  keys: readonly string[];
}

export const explainedKeys: readonly ExplainedKeys[] = lines.map(
  ([meaning, keys, more]: HelpLine) => ({
    meaning,
    actions: typeof keys === 'string' ? [] : (Object.keys(keys) as ActionName[]),
    keys: typeof keys === 'string' ? [keys] : more === undefined ? [] : [more],
  }),
);

export const defaultKeys = Object.assign(
  {},
  ...lines.map(([, keys]) => (typeof keys === 'string' ? {} : keys)),
) as Readonly<Record<ActionName, string>>;
