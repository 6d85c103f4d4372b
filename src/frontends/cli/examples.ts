import { type Example, moreExamples } from './more-examples.ts';

export type { Example } from './more-examples.ts';

/**
 * Examples for the help of each command, by its path. The keys are also the commands that a misspelled one is compared
 * with. A test checks that every command has an example, and that each of them parses.
 */
export const examples: Readonly<Record<string, readonly Example[]>> = {
  serve: [
    ['serve', 'Start the server with the configured providers'],
    ['serve --demo --port 0', 'Start the server with a demo agent, on a free port'],
    ['serve --detach', 'Start the server in the background, until you run cadre stop'],
  ],
  stop: [
    ['stop', 'Stop the server after the end of running turns'],
    ['stop --now', 'Interrupt running turns, and stop the server'],
  ],
  'service install': [
    ['service install', 'Install the service in systemd or launchd'],
    ['service install --print', 'Print the service file without installing the service'],
  ],
  'service uninstall': [['service uninstall', '']],
  'service status': [
    ['service status --json', 'Print the state of the server and the service as JSON'],
  ],
  'service logs': [
    ['service logs --tail 200 -f', 'Show the last 200 log lines, then new log lines'],
  ],
  'service stop': [['service stop', '']],
  run: [
    ['run "explain this repository"', 'Send a prompt to an agent in a new session'],
    [
      'run --permission-mode require_approval "tidy up"',
      'Let the agent request your approval for actions',
    ],
    [
      'run --agent gemini --agent-mode plan "how does it work?"',
      'Start the agent gemini in its mode plan',
    ],
    ['run -c "and now the tests"', 'Continue the latest session of this directory'],
    ['run --worktree fix-login "fix the login"', 'Let the agent work in a new git worktree'],
    [
      'run --until "npm test" --max 3 "fix the tests"',
      'Let the agent continue until the tests pass, for up to 3 checks',
    ],
    ['run --on gpu "fix the login"', 'Create the session on the server named gpu'],
  ],
  diff: [
    ['diff fe7289aa', 'Show all changes of a session (in a pager on a terminal)'],
    ['diff fe7289aa --stat', 'Show only the changed files of a session'],
    ['diff fe7289aa --head src', 'Show only uncommitted changes of a session in the directory src'],
    ['diff fe7289aa --at 1b2c3d4e', 'Show only the changes of one turn of a session of a session'],
  ],
  'sessions snapshots': [
    [
      'sessions snapshots fe7289aa on',
      'Store a snapshot of the files at the start and end of each turn',
    ],
    ['sessions snapshots fe7289aa', 'List the stored file snapshots of a session'],
  ],
  'sessions files': [
    ['sessions files fe7289aa --at 1b2c3d4e', 'List the files that a turn changed'],
    [
      'sessions files fe7289aa --at 1b2c3d4e --tree src',
      'List all files in the directory src at the end of a turn',
    ],
  ],
  'sessions restore': [
    [
      'sessions restore fe7289aa src/auth.ts --before 1b2c3d4e',
      'Undo the change that a turn made to a file',
    ],
    [
      'sessions restore fe7289aa src/auth.ts --at 1b2c3d4e --force',
      'Restore a file, and keep the current file as a copy',
    ],
  ],
  'sessions create': [
    ['sessions create --title "long job"', 'Create a session, and print the id of the session'],
    ['sessions create --on gpu', 'Create the session on the server named gpu'],
    ['sessions create --agent gemini --agent-mode plan', 'Start the agent gemini in its mode plan'],
  ],
  'sessions attach': [
    ['sessions attach', 'Attach to the latest session of this directory'],
    ['sessions attach "long job"', 'Attach to the session with the title "long job"'],
  ],
  'sessions export': [
    [
      'sessions export fe7289aa --file talk.html',
      'Write the conversation of a session to an HTML file',
    ],
    [
      'sessions export fe7289aa --markdown --redact',
      'Print a conversation as Markdown, and mask secrets of known kinds',
    ],
  ],
  'sessions show': [
    ['sessions show fe7289aa', 'Show all turns of a session'],
    ['sessions show fe7289aa --markdown', 'Print the conversation of a session as Markdown'],
    [
      'sessions show fe7289aa --turn turn_019aa8d411aa7f0e8d1c0b9e4f7a6c33',
      'Show one turn of a session',
    ],
  ],
  'sessions wait': [
    [
      'sessions wait fe7289aa 1b2c3d4e --timeout 10m',
      'Wait until both sessions are idle, at most 10 minutes',
    ],
    ['sessions wait --any fe7289aa 1b2c3d4e', 'Wait until one of two sessions is idle'],
  ],
  'sessions commands': [
    [
      'sessions commands fe7289aa',
      'List the slash commands that a prompt of this session can start with',
    ],
  ],
  'sessions rename': [['sessions rename fe7289aa "the login"', '']],
  'sessions edit': [
    ['sessions edit fe7289aa --model opus', 'Use another model from the next turn on'],
    [
      'sessions edit fe7289aa --permission-mode ""',
      'Let the configuration of the agent decide what it may do',
    ],
  ],
  'sessions until': [
    [
      'sessions until fe7289aa "npm test"',
      'Check the tests now, and after each turn until they pass',
    ],
    ['sessions until fe7289aa --cancel', 'Cancel the goal of a session'],
  ],
  'sessions after-limit': [
    [
      'sessions after-limit fe7289aa wait',
      "Keep the session waiting for you after the provider's usage limit resets",
    ],
  ],
  'sessions list': [
    ['sessions list --status ready', 'List idle sessions'],
    ['sessions list --limit 500 --json', 'Print up to 500 complete session records as JSON'],
  ],
  'sessions get': [['sessions get fe7289aa', 'Show the session with an id that ends in fe7289aa']],
  'sessions send': [
    ['sessions send fe7289aa "and now the tests"', 'Send a prompt, and wait until the turn ends'],
    ['sessions send fe7289aa "what is this?" --image shot.png', 'Send a prompt with an image'],
    ['sessions send fe7289aa --queue "then the docs"', 'Send the prompt when the session is idle'],
    ['sessions send fe7289aa --at 18:00 "continue"', 'Send the prompt at 18:00'],
    [
      'sessions send fe7289aa --every "0 8 * * MON-FRI" --name morning "what is new?"',
      'Send the prompt at 8:00 on each working day',
    ],
  ],
  'sessions turns': [
    ['sessions turns "long job"', 'List the turns of the session with the title "long job"'],
  ],
  'sessions items': [
    [
      'sessions items fe7289aa',
      'Show the messages, thoughts and tool calls of the most recent turn',
    ],
  ],
  'sessions item': [
    [
      'sessions item fe7289aa item_01a1fbd295577217bffe936eec974423',
      'Show one message, thought or tool call of the most recent turn',
    ],
  ],
  'sessions interrupt': [
    ['sessions interrupt fe7289aa', 'Interrupt the running turn of a session'],
  ],
  'sessions close': [['sessions close fe7289aa --reason "it is done"', '']],
  'sessions resume': [['sessions resume fe7289aa', '']],
  review: [
    [
      'review fe7289aa',
      'Open the diff in $VISUAL or $EDITOR, and write comments between its lines',
    ],
    [
      'review fe7289aa --comment src/auth.ts:12 "what if there is none?"',
      'Add a comment on one line without an editor',
    ],
    [
      'review fe7289aa --comment src/auth.ts:12-14 "simplify this"',
      'Add a comment on several lines without an editor',
    ],
  ],
  'review show': [
    [
      'review show fe7289aa',
      'Show all unsent comments, including comments on lines that have changed since',
    ],
  ],
  'review remove': [
    ['review remove fe7289aa 9f8e7d6c', 'Remove one review comment'],
    ['review remove fe7289aa --all --yes', ''],
  ],
  'review send': [
    ['review send fe7289aa', 'Send all review comments as one prompt'],
    [
      'review send fe7289aa "only the tests, please" --queue',
      'Send the comments when the session is idle',
    ],
  ],
  search: [
    ['search login page', 'Find texts with the words login and page'],
    ['search "the login page"', 'Find texts with the phrase "the login page"'],
    [
      'search --kind tool --since 2d npm*',
      'Find npm commands that agents ran in the last two days',
    ],
    [
      'search --session fe7289aa --best cache -- -test',
      'Find texts that contain "cache" but not "test"',
    ],
    ['search --status', 'Show the state of the search index'],
  ],
  'queue add': [
    ['queue add fe7289aa "then the docs"', 'Send the prompt when the session is idle'],
    ['queue add fe7289aa --at 18:00 "continue"', 'Send the prompt at 18:00'],
  ],
  'queue list': [
    ['queue list', 'List the queue entries of all sessions'],
    ['queue list --session fe7289aa', 'List the queue entries of one session'],
  ],
  'queue show': [['queue show morning', 'Show the queue entry with the name morning']],
  'queue edit': [
    ['queue edit 1b2c3d4e "and the docs, too"', 'Change the text of a queue entry'],
    ['queue edit morning --every "0 9 * * MON-FRI"', 'Change the schedule of a queue entry'],
  ],
  'queue move': [['queue move 1b2c3d4e --first', 'Move a queue entry to the front of the queue']],
  'queue pause': [
    ['queue pause morning --reason holidays', 'Pause the queue entry with the name morning'],
    ['queue pause --session fe7289aa --until 18:00', 'Pause the queue of a session until 18:00'],
  ],
  'queue resume': [
    ['queue resume morning', 'Resume a scheduled prompt, and skip the runs that it missed'],
    [
      'queue resume --session fe7289aa',
      'Resume the queue of a session, for example after the interrupt of a turn',
    ],
  ],
  'queue remove': [
    ['queue remove 1b2c3d4e --yes', 'Remove a queue entry without asking for confirmation'],
  ],
  usage: [
    ['usage', 'Show tokens and cost on each of the last 30 days'],
    ['usage --by session --since 7d', 'Show tokens and cost of each session in the last 7 days'],
    [
      'usage --by provider --since all --json',
      'Print the total tokens and cost of each provider as JSON',
    ],
  ],
  'budgets list': [
    ['budgets list', 'List all budgets'],
    ['budgets list --team shop', 'List the budgets of a team'],
  ],
  'budgets set': [
    [
      'budgets set --session fe7289aa --tokens 500k',
      'Require your approval when a session has used 500,000 tokens',
    ],
    [
      'budgets set --team shop --cost 20 --per day',
      'Limit the cost of a team to 20 US dollars per day',
    ],
    [
      'budgets set --turns 200 --hard',
      'Limit all sessions to 200 turns per day, and interrupt running turns',
    ],
  ],
  'budgets remove': [['budgets remove 1b2c3d4e', '']],
  'approvals list': [
    ['approvals list', 'List pending approval requests'],
    ['approvals list --status declined', 'List declined approval requests'],
  ],
  'approvals show': [['approvals show 0a1b2c3d', 'Show a complete approval request']],
  'approvals accept': [['approvals accept 0a1b2c3d', '']],
  'approvals decline': [['approvals decline 0a1b2c3d --reason "use make clean"', '']],
  'approvals link': [
    ['approvals link 0a1b2c3d', 'Print the URL of a page to answer an approval request'],
    [
      'approvals link 0a1b2c3d --expires 8h',
      'Print the URL of an approval page that expires after 8 hours',
    ],
  ],
  'hooks list': [
    ['hooks list', 'List all hooks, with the pending events and last error of each hook'],
    ['hooks list --json', 'Print the state of all hooks as JSON'],
  ],
  'hooks test': [['hooks test phone', 'Send a test event to the hook named phone']],
  'hooks skip': [
    ['hooks skip phone', 'Skip the event that the hook cannot deliver'],
    ['hooks skip phone --all', 'Skip all pending events of the hook'],
  ],
  'approvals rules list': [['approvals rules list', '']],
  'approvals rules add': [
    [
      'approvals rules add allow --command "git log **"',
      'Allow git log with any arguments except options',
    ],
    [
      'approvals rules add allow --path "docs/**" --directory .',
      'Allow changes to files in ./docs',
    ],
    ['approvals rules add deny --command "git push **" --reason "people push"', ''],
  ],
  'approvals rules remove': [['approvals rules remove 5d6e7f8a', '']],
  'approvals rules test': [
    [
      'approvals rules test "git log --oneline"',
      'Show which rule would allow or deny a command, or why no rule does',
    ],
    ['approvals rules test --path src/main.ts', ''],
  ],
  'providers list': [['providers list', '']],
  'providers discover': [
    ['providers discover', 'List installed agents'],
    ['providers discover --all', 'List all supported agents, with install commands'],
  ],
  ...moreExamples,
};

/** The examples of a command as lines for its help; '' without any. */
export function exampleLines(path: string): string {
  const own = examples[path] ?? [];
  if (own.length === 0) return '';
  const width = Math.max(...own.map(([line]) => line.length));
  const lines = own.map(([line, does]) => `  cadre ${line.padEnd(width)}  ${does}`.trimEnd());
  return `\nExamples:\n${lines.join('\n')}`;
}
