import { commandOn } from './command-on.ts';

type Options = Parameters<typeof commandOn>[1];

/**
 * Returns the command that helps after a refusal, such as `see cadre sessions list`, with the data directory of the options;
 * null if there is none. Messages of the server name no command, because most of their readers use HTTP or tools, so the
 * command line adds it.
 */
export function commandFor(message: string, options: Options = {}): string | null {
  const command = commands.find(([refusal]) => refusal.test(message))?.[1];
  return command?.replace(COMMAND, (_all, words: string) => commandOn(words, options)) ?? null;
}

const COMMAND = /\bcadre ([a-z]+(?: [a-z]+)*(?: [A-Z]+)?(?: --(?!help\b)[a-z]+)*)/;
const COMMAND_AT_END = new RegExp(`${COMMAND.source}$`);

/** A message whose last words are a command of cadre, with the data directory of the options. */
export function withDirectory(message: string, options: Options): string {
  return message.replace(COMMAND_AT_END, (_all, words: string) => commandOn(words, options));
}

/** A message with its remedy in options, and with the command that helps if there is one. */
export function withCommand(message: string, options: Options = {}): string {
  const text = withDirectory(inOptions(message), options);
  const command = commandFor(message, options);
  if (command === null) return text;
  return `${text}${command.startsWith('or ') ? ',' : ':'} ${command}`;
}

/** A message of the server with the options of the command line in the place of fields of the HTTP interface. */
export function inOptions(message: string): string {
  return remedies.reduce((text, [field, option]) => text.replace(field, option), message);
}

const remedies: readonly [field: RegExp, option: string][] = [
  [/^body: /, ''],
  [
    / is not a usable git repository \(a bare repository [^)]*\): choose a directory in a git repository$/,
    ' is in a bare repository, which has no working tree: run the command in a clone or a worktree of the repository, or pass the bare repository itself with --repo (only for the commands worktrees and templates)',
  ],
  [
    /: choose a directory in a git repository$/,
    ': run the command in a git repository, or pass a repository with --cwd (--repo for the commands worktrees and templates)',
  ],
  [/: set remote to a remote of the repository$/, ': pass --remote'],
  [/: set into to a branch$/, ': pass --into'],
  [/: set onto to a branch$/, ': pass --onto'],
  [/^unknown thinking_effort /, 'unknown --effort '],
  [/: add tokens, cost_usd or turns$/, ': pass --tokens, --cost or --turns'],
  [
    /\bsend the turn with permission_mode "require_approval"(?: to answer questions)?/,
    'pass --permission-mode require_approval',
  ],
];

const commands: readonly [refusal: RegExp, command: string][] = [
  [notFound('session'), 'see cadre sessions list'],
  [/^session "[^"]*" has no turn "/, 'see cadre sessions turns'],
  [/^session "[^"]*" has no file snapshot /, 'see cadre sessions snapshots'],
  [/^session "[^"]*" has no approval "/, 'see cadre approvals list'],
  [/^session "[^"]*" is not a member of team /, 'see cadre teams show'],
  [/^session "[^"]*" has no goal$/, 'set a goal with cadre sessions until'],
  [/^session "[^"]*" has no watch$/, 'start one with cadre sessions watch'],
  [/: stop the watch first$/, 'run cadre sessions watch SESSION --stop'],
  [/: cancel the goal first$/, 'run cadre sessions until SESSION --cancel'],
  [/: hand over or close session \S+$/, 'see cadre sessions get SESSION'],
  [notFound('queue entry'), 'see cadre queue list'],
  [/^the queue of session "[^"]*" has no entry "/, 'see cadre queue list'],
  [/^session "[^"]*" has no review comment "/, 'see cadre review show'],
  [/^the review of session \S+ has no comments/, 'add comments with cadre review'],
  [/^agent "[^"]*" of provider \S+ not found$/, 'see cadre providers discover'],
  [notFound('team'), 'see cadre teams list'],
  [/^team "[^"]*" has no message "/, 'see cadre teams messages'],
  [/^team "[^"]*" has no delivery "/, 'see cadre teams deliveries'],
  [/^message \S+ has no pending delivery$/, 'see cadre teams deliveries'],
  [notFound('process'), 'see cadre processes list'],
  [notFound('worktree'), 'see cadre worktrees list'],
  [notFound('race'), 'see cadre races list'],
  [/, or stop the race$/, 'run cadre races stop RACE'],
  [/^the worktree has uncommitted changes: /, 'pass --commit MESSAGE to commit them'],
  [/ is not at [0-9a-f]+: push the branch, or request a push$/, 'pass --push'],
  [/: use force to replace the file and keep a copy$/, 'pass --force'],
  [
    /^turn \S+ of session \S+ is still running: wait until the turn ends$/,
    'or queue the prompt with cadre queue add',
  ],
  [/has filters that you have not allowed/, 'see cadre worktrees trust'],
  [notFound('budget'), 'see cadre budgets list'],
  [/^the budget of .* is used up .* or queue the turn$/, 'see cadre approvals list'],
  [notFound('token'), 'see cadre tokens list'],
  [notFound('rule'), 'see cadre approvals rules list'],
  [/, or confirm the rule with i_know$/, 'pass --i-know'],
  [notFound('hook'), 'see cadre hooks list'],
  [/^the data directory has data format .* restore older data$/, 'run cadre db rollback'],
  [/ restore a backup$/, 'run cadre db restore FILE'],
  [
    /^missing or invalid bearer token$/,
    'if CADRE_TOKEN or --token-file is out of date, leave it out to use the token of the server on this machine',
  ],
  [/^acp: .*name an agent that is installed/, 'pass --agent (see cadre providers discover)'],
  [/^acp: not configured/, 'or run cadre serve --demo to use the demo agent'],
];

/** The refusal of an id or a name that does not exist. */
function notFound(what: string): RegExp {
  return new RegExp(`^no ${what} "|^${what} "[^"]*" not found$`);
}
