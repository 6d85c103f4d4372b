/** A command line without `cadre`, and what it does. */
export type Example = readonly [line: string, does: string];

/**
 * Examples for the help of each command, by its path. The keys are also the commands that a misspelled one is compared
 * with. A test checks that every command has an example, and that each of them parses.
 */
export const examples: Readonly<Record<string, readonly Example[]>> = {
  serve: [
    ['serve', 'Start with the configured providers'],
    ['serve --demo --port 0', 'Start with a demo agent, on a free port'],
    ['serve --detach', 'Start in the background; stop with cadre service stop'],
  ],
  'service install': [
    ['service install', 'Use systemd or launchd, whichever this machine has'],
    ['service install --print', 'Print the unit without installing it'],
  ],
  'service uninstall': [['service uninstall', '']],
  'service status': [['service status --json', 'Print JSON for a program']],
  'service logs': [['service logs --tail 200 -f', 'Show 200 lines, then new lines']],
  'service stop': [['service stop', '']],
  run: [
    ['run "explain this repository"', 'Send a prompt in a new session'],
    ['run --permission-mode require_approval "tidy up"', 'Approve each action of the agent'],
    [
      'run --agent gemini --agent-mode plan "how does it work?"',
      'Use an acp agent in one of its own modes',
    ],
    ['run -c "and now the tests"', 'Continue the latest session of this directory'],
    ['run --worktree fix-login "fix the login"', 'Work in a new git worktree'],
    ['run --on gpu "fix the login"', 'Use the server named gpu'],
  ],
  diff: [
    ['diff fe7289aa', 'Show all changes (in a pager on a terminal)'],
    ['diff fe7289aa --stat', 'Show only the files'],
    ['diff fe7289aa --head src', 'Show uncommitted changes below src'],
    ['diff fe7289aa --at 1b2c3d4e', 'Show the changes of one turn'],
  ],
  'sessions snapshots': [
    ['sessions snapshots fe7289aa on', 'Store the files at the start and end of each turn'],
    ['sessions snapshots fe7289aa', 'List the stored snapshots'],
  ],
  'sessions files': [
    ['sessions files fe7289aa --at 1b2c3d4e', 'List the files that a turn changed'],
    ['sessions files fe7289aa --at 1b2c3d4e --tree src', 'List all files below src after a turn'],
  ],
  'sessions restore': [
    ['sessions restore fe7289aa src/auth.ts --before 1b2c3d4e', 'Undo the change of a turn'],
    [
      'sessions restore fe7289aa src/auth.ts --at 1b2c3d4e --force',
      'Overwrite later changes, and keep them in a copy',
    ],
  ],
  'sessions create': [
    ['sessions create --title "long job"', 'Print the id of the new session'],
    ['sessions create --on gpu', 'Use the server named gpu'],
    [
      'sessions create --agent gemini --agent-mode plan',
      'Use an acp agent in one of its own modes',
    ],
  ],
  'sessions attach': [
    ['sessions attach', 'Attach to the latest session of this directory'],
    ['sessions attach "long job"', 'Find the session by its title'],
  ],
  'sessions show': [
    ['sessions show fe7289aa', 'Show all turns'],
    ['sessions show fe7289aa --markdown', 'Print Markdown'],
    ['sessions show fe7289aa --turn turn_019aa8d411aa7f0e8d1c0b9e4f7a6c33', 'Show one turn'],
  ],
  'sessions wait': [
    ['sessions wait fe7289aa 1b2c3d4e --timeout 10m', 'Wait until both sessions are idle'],
    ['sessions wait --any fe7289aa 1b2c3d4e', 'Wait until one session is idle'],
  ],
  'sessions commands': [
    ['sessions commands fe7289aa', 'List the commands that may follow / in a prompt'],
  ],
  'sessions rename': [['sessions rename fe7289aa "the login"', '']],
  'sessions after-limit': [
    ['sessions after-limit fe7289aa wait', 'Wait for you after a usage limit'],
  ],
  'sessions list': [
    ['sessions list --status ready', 'List idle sessions'],
    ['sessions list --limit 500 --json', 'Print complete records for a program'],
  ],
  'sessions get': [['sessions get fe7289aa', 'Find the session by the end of its id']],
  'sessions send': [
    ['sessions send fe7289aa "and now the tests"', 'Wait until the turn ends'],
    ['sessions send fe7289aa "what is this?" --image shot.png', 'Attach an image'],
    ['sessions send fe7289aa --queue "then the docs"', 'Send once the session is idle'],
    ['sessions send fe7289aa --at 18:00 "continue"', 'Send the prompt at 18:00'],
    [
      'sessions send fe7289aa --every "0 8 * * MON-FRI" --name morning "what is new?"',
      'Send on each working day',
    ],
  ],
  'sessions turns': [['sessions turns "long job"', 'Find the session by its title']],
  'sessions items': [['sessions items fe7289aa', 'Show the most recent turn']],
  'sessions item': [
    [
      'sessions item fe7289aa item_01a1fbd295577217bffe936eec974423',
      'Show an item of the most recent turn',
    ],
  ],
  'sessions interrupt': [['sessions interrupt fe7289aa', 'Interrupt the running turn']],
  'sessions close': [['sessions close fe7289aa --reason "it is done"', '']],
  'sessions resume': [['sessions resume fe7289aa', '']],
  review: [
    ['review fe7289aa', 'Edit the comments in the diff, in $VISUAL or $EDITOR'],
    [
      'review fe7289aa --comment src/auth.ts:12 "what if there is none?"',
      'Add a comment in a script',
    ],
    ['review fe7289aa --comment src/auth.ts:12-14 "simplify this"', 'Comment on several lines'],
  ],
  'review show': [['review show fe7289aa', 'Show comments, including stale ones']],
  'review remove': [
    ['review remove fe7289aa 9f8e7d6c', 'Remove one comment'],
    ['review remove fe7289aa --all --yes', ''],
  ],
  'review send': [
    ['review send fe7289aa', 'Send all comments as one turn'],
    ['review send fe7289aa "only the tests, please" --queue', 'Send once the session is idle'],
  ],
  search: [
    ['search login page', 'Find texts with both words'],
    ['search "the login page"', 'Find a phrase'],
    ['search --kind tool --since 2d npm*', 'Find commands of the last two days'],
    ['search --session fe7289aa --best cache -- -test', 'Exclude the word test'],
    ['search --status', 'Show the state of the index'],
  ],
  'queue add': [
    ['queue add fe7289aa "then the docs"', 'Send once the session is idle'],
    ['queue add fe7289aa --at 18:00 "continue"', 'Send the prompt at 18:00'],
  ],
  'queue list': [
    ['queue list', 'List entries of all sessions'],
    ['queue list --session fe7289aa', 'List entries of one session'],
  ],
  'queue show': [['queue show morning', 'Find the entry by its name']],
  'queue edit': [
    ['queue edit 1b2c3d4e "and the docs, too"', 'Change the text'],
    ['queue edit morning --every "0 9 * * MON-FRI"', 'Change the schedule'],
  ],
  'queue move': [['queue move 1b2c3d4e --first', 'Send the entry next']],
  'queue pause': [
    ['queue pause morning --reason holidays', 'Pause one entry'],
    ['queue pause --session fe7289aa --until 18:00', 'Pause the queue of a session'],
  ],
  'queue resume': [
    ['queue resume morning', 'Skip missed runs'],
    ['queue resume --session fe7289aa', 'Resume also after an interrupt'],
  ],
  'queue remove': [['queue remove 1b2c3d4e --yes', 'Remove without asking for confirmation']],
  usage: [
    ['usage', 'Show each of the last 30 days'],
    ['usage --by session --since 7d', 'Compare sessions'],
    ['usage --by provider --since all --json', 'Print everything as JSON'],
  ],
  'budgets list': [
    ['budgets list', 'List all budgets'],
    ['budgets list --team shop', 'List the budgets of a team'],
  ],
  'budgets set': [
    ['budgets set --session fe7289aa --tokens 500k', 'Request approval for more when used up'],
    ['budgets set --team shop --cost 20 --per day', 'Limit the cost per day'],
    ['budgets set --turns 200 --hard', 'Limit all sessions per day, and interrupt running turns'],
  ],
  'budgets remove': [['budgets remove 1b2c3d4e', '']],
  'approvals list': [
    ['approvals list', 'List pending requests'],
    ['approvals list --status declined', 'List declined requests'],
  ],
  'approvals show': [['approvals show 0a1b2c3d', 'Show the complete request']],
  'approvals accept': [['approvals accept 0a1b2c3d', '']],
  'approvals decline': [['approvals decline 0a1b2c3d --reason "use make clean"', '']],
  'approvals link': [
    ['approvals link 0a1b2c3d', 'Print the URL of the page'],
    ['approvals link 0a1b2c3d --expires 8h', 'Expire after 8 hours'],
  ],
  'hooks list': [
    ['hooks list', 'List hooks with pending events and errors'],
    ['hooks list --json', 'Print JSON for a program'],
  ],
  'hooks test': [['hooks test phone', 'Send a test event']],
  'hooks skip': [
    ['hooks skip phone', 'Skip the event that fails'],
    ['hooks skip phone --all', 'Skip all pending events'],
  ],
  'approvals rules list': [['approvals rules list', '']],
  'approvals rules add': [
    ['approvals rules add allow --command "git log **"', 'Allow git log without options'],
    [
      'approvals rules add allow --path "docs/**" --directory .',
      'Allow changes below docs in this directory',
    ],
    ['approvals rules add deny --command "git push **" --reason "people push"', ''],
  ],
  'approvals rules remove': [['approvals rules remove 5d6e7f8a', '']],
  'approvals rules test': [
    ['approvals rules test "git log --oneline"', 'Show which rule decides, or why none does'],
    ['approvals rules test --path src/main.ts', ''],
  ],
  'providers list': [['providers list', '']],
  'providers discover': [
    ['providers discover', 'List installed agents'],
    ['providers discover --all', 'List all agents, with install commands'],
  ],
  'providers models': [
    ['providers models claude', ''],
    ['providers models acp --agent gemini', ''],
  ],
  'providers auth': [
    ['providers auth codex', ''],
    ['providers auth acp --agent gemini', ''],
  ],
  'providers login': [
    ['providers login claude', 'Prompt for an API key'],
    ['providers login codex --auth-json auth.json', 'Import the login file of another machine'],
    ['providers login acp --agent gemini', 'Choose one of the login methods'],
  ],
  'providers logout': [
    ['providers logout claude', ''],
    ['providers logout acp --agent gemini', ''],
  ],
  'processes run': [
    ['processes run "npm run dev"', 'Print the id of the process'],
    ['processes run --follow --timeout 5m "npm test"', 'Exit with the exit code of the command'],
  ],
  'processes list': [['processes list --status running', '']],
  'processes show': [['processes show 8f568c7e', 'Find the process by the end of its id']],
  'processes logs': [
    ['processes logs 8f568c7e --tail 20', 'Show the last 20 lines'],
    ['processes logs 8f568c7e --follow --tail 20', 'Show 20 lines, then new output'],
  ],
  'processes wait': [
    ['processes wait 8f568c7e --for port:3000', 'Wait until the port accepts connections'],
    ['processes wait "npm test" --timeout 10m', 'Wait until the process exits'],
  ],
  'processes restart': [['processes restart "npm run dev"', 'Print the id of the new process']],
  'processes stop': [['processes stop 8f568c7e --reason "wrong port"', '']],
  'worktrees list': [['worktrees list --repo .', 'List worktrees of this repository']],
  'worktrees show': [['worktrees show fix-login', 'Find the worktree by its name']],
  'worktrees create': [
    ['worktrees create fix-login --session 1b2c3d4e', 'Create the branch cadre/fix-login'],
  ],
  'worktrees trust': [['worktrees trust', 'Show and allow the scripts of this repository']],
  'worktrees untrust': [['worktrees untrust', 'Stop allowing all scripts of this repository']],
  'worktrees list-trusted': [['worktrees list-trusted', '']],
  'worktrees claim': [['worktrees claim fix-login --session 1b2c3d4e', '']],
  'worktrees release': [
    [
      'worktrees release fix-login --session 1b2c3d4e',
      'Release a claim; the last release removes the worktree',
    ],
  ],
  'worktrees merge': [
    ['worktrees merge fix-login', 'Preview and confirm'],
    [
      'worktrees merge fix-login --into release --squash --yes',
      'Merge one commit without confirmation',
    ],
  ],
  'worktrees rebase': [['worktrees rebase fix-login --onto main', '']],
  'worktrees pr': [
    ['worktrees pr fix-login --push --draft', 'Push the branch and open a draft with gh'],
  ],
  'worktrees cleanup': [['worktrees cleanup fix-login', '']],
  'worktrees restore': [['worktrees restore 9a8b7c6d', 'Restore commits and uncommitted changes']],
  'worktrees gc': [
    ['worktrees gc', 'Show worktrees without claims'],
    ['worktrees gc --remove', 'Archive and remove them'],
  ],
  'teams list': [['teams list --all', 'Include deleted teams']],
  'teams show': [
    ['teams show shop', 'Show members and latest messages'],
    ['teams show shop --watch', 'Redraw after each change'],
  ],
  'teams create': [['teams create shop --lead 1b2c3d4e --member 5f6a7b8c', '']],
  'teams delete': [['teams delete shop', '']],
  'teams add': [['teams add shop 5f6a7b8c --title reviewer', '']],
  'teams remove': [['teams remove shop reviewer', 'Find the member by its title in the team']],
  'teams lead': [['teams lead shop 5f6a7b8c', '']],
  'teams spawn': [
    ['teams spawn shop "Write the tests." --source 1b2c3d4e --title tester --worktree tests', ''],
  ],
  'teams interrupt-all': [['teams interrupt-all shop', '']],
  'teams message': [
    ['teams message shop reviewer "Review the last commit." --priority high', ''],
    ['teams message shop reviewer -', 'Read the text from stdin'],
  ],
  'teams broadcast': [['teams broadcast shop "The release is today."', '']],
  'teams messages': [['teams messages shop', '']],
  'teams deliveries': [
    ['teams deliveries shop --status failed', 'List failed deliveries with their errors'],
  ],
  'teams retry': [['teams retry shop 2c3d4e5f', '']],
  'teams cancel': [['teams cancel shop 6a7b8c9d', '']],
  'events tail': [
    ['events tail --session fe7289aa', 'Follow one session'],
    [
      'events tail --json --kind "turn.*" --cursor-file cursor',
      'Continue where the last run stopped',
    ],
  ],
  'mcp serve': [['mcp serve', 'Started by agents']],
  'mcp install': [
    ['mcp install claude', 'Ask whether claude may run commands'],
    ['mcp install codex --permission-mode full_access', 'Allow commands'],
    ['mcp install gemini --session fe7289aa', 'Act as a session, with its teams'],
    ['mcp install opencode --print', 'Print the change only'],
  ],
  'mcp uninstall': [['mcp uninstall claude', '']],
  'mcp list': [['mcp list', 'Show which agents have the tools, and their last use']],
  'mcp tools': [['mcp tools', '']],
  'mcp call': [
    ['mcp call cadre_process_run --as fe7289aa --arg command="npm test"', ''],
    ['mcp call cadre_process_status --as fe7289aa --args "{}"', 'Pass arguments as JSON'],
  ],
  acp: [
    ['acp', 'Started by editors'],
    ['acp --provider codex', 'Use Codex for new sessions'],
    ['acp --session "long job"', 'Use an existing session'],
  ],
  'fleet init': [
    [
      'fleet init --print-nats-config --host 10.0.0.1 --node a --node b --person alice',
      'Print nats.conf and create all keys',
    ],
    ['fleet init --fleet nats://10.0.0.1:4222', 'Create the fleet with the admin key'],
  ],
  'fleet status': [['fleet status --fleet nats://10.0.0.1:4222', '']],
  'fleet nodes replace': [['fleet nodes replace gpu --yes', 'Free the name of a lost server']],
  'tokens list': [['tokens list', '']],
  'tokens create': [
    [
      'tokens create prometheus --scope read --expires 30d',
      'Print the secret, which is shown only once',
    ],
  ],
  'tokens revoke': [['tokens revoke prometheus', 'Find the token by its name']],
  'db backup': [['db backup copy.cadre', '']],
  'db restore': [['db restore copy.cadre', 'Replace a lost or damaged database']],
  'db rollback': [
    ['db rollback', 'Return to the data from before the last upgrade'],
    ['db rollback --yes --json', 'Roll back in a script'],
  ],
  'db check': [
    ['db check', 'Check the database of this machine'],
    ['db check copy.cadre', 'Check a backup'],
  ],
  'config show': [['config show --origin', 'Show the source of each value']],
  'config check': [['config check', '']],
  'config path': [['config path', '']],
  doctor: [
    ['doctor', ''],
    ['doctor --agents', 'Also start each agent'],
  ],
  top: [
    ['top', 'Open the screen (on a terminal)'],
    ['top --json', 'Print one JSON document'],
  ],
  status: [['status', '']],
  completion: [['completion bash', 'Print the script for bash']],
  'diagnostics all': [['diagnostics all --json', '']],
  'diagnostics recovery': [['diagnostics recovery', '']],
  'diagnostics providers': [['diagnostics providers', '']],
  'diagnostics processes': [['diagnostics processes', '']],
  'diagnostics worktrees': [['diagnostics worktrees', '']],
  'diagnostics comms': [['diagnostics comms', '']],
  'diagnostics storage': [['diagnostics storage', '']],
  metrics: [['metrics', '']],
  licenses: [['licenses', '']],
  version: [['version', '']],
  help: [['help sessions send', 'Same as cadre sessions send --help']],
};

/** The examples of a command as lines for its help; '' without any. */
export function exampleLines(path: string): string {
  const own = examples[path] ?? [];
  if (own.length === 0) return '';
  const width = Math.max(...own.map(([line]) => line.length));
  const lines = own.map(([line, does]) => `  cadre ${line.padEnd(width)}  ${does}`.trimEnd());
  return `\nExamples:\n${lines.join('\n')}`;
}
