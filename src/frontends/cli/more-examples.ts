/** A command line without `cadre`, and what it does. */
export type Example = readonly [line: string, does: string];

/** The examples of the commands about agents, processes, worktrees, teams and the operation of the server. */
export const moreExamples: Readonly<Record<string, readonly Example[]>> = {
  'providers models': [
    ['providers models claude', ''],
    ['providers models acp --agent gemini', ''],
  ],
  'providers auth': [
    ['providers auth codex', ''],
    ['providers auth acp --agent gemini', ''],
  ],
  'providers login': [
    ['providers login claude', 'Log in to claude with an API key that you type'],
    [
      'providers login codex --auth-json auth.json',
      'Log in to codex with a login file from another machine',
    ],
    ['providers login acp --agent gemini', 'Log in to gemini with one of its login methods'],
  ],
  'providers logout': [
    ['providers logout claude', ''],
    ['providers logout acp --agent gemini', ''],
  ],
  'processes run': [
    ['processes run "npm run dev"', 'Start a process in the background, and print its id'],
    [
      'processes run --follow --timeout 5m "npm test"',
      'Run a command, and exit with its exit code',
    ],
  ],
  'processes list': [['processes list --status running', '']],
  'processes show': [
    ['processes show 8f568c7e', 'Show the process with an id that ends in 8f568c7e'],
  ],
  'processes logs': [
    ['processes logs 8f568c7e --tail 20', 'Show the last 20 lines of the output'],
    ['processes logs 8f568c7e --follow --tail 20', 'Show the last 20 lines, then new output'],
  ],
  'processes wait': [
    ['processes wait 8f568c7e --for port:3000', 'Wait until port 3000 accepts connections'],
    ['processes wait "npm test" --timeout 10m', 'Wait at most 10 minutes until the process exits'],
  ],
  'processes restart': [
    ['processes restart "npm run dev"', 'Restart a process, and print the id of the new process'],
  ],
  'processes stop': [['processes stop 8f568c7e --reason "wrong port"', '']],
  'worktrees list': [
    ['worktrees list --repo .', 'List the worktrees of the repository in this directory'],
  ],
  'worktrees show': [['worktrees show fix-login', 'Show the worktree with the name fix-login']],
  'worktrees create': [
    [
      'worktrees create fix-login --session 1b2c3d4e',
      'Create a worktree with the branch cadre/fix-login',
    ],
  ],
  'worktrees trust': [
    [
      'worktrees trust',
      'Show the scripts of the repository in this directory, and ask whether to trust them',
    ],
  ],
  'worktrees untrust': [
    ['worktrees untrust', 'Stop trusting all scripts of the repository in this directory'],
  ],
  'worktrees list-trusted': [['worktrees list-trusted', '']],
  'worktrees claim': [['worktrees claim fix-login --session 1b2c3d4e', '']],
  'worktrees release': [
    [
      'worktrees release fix-login --session 1b2c3d4e',
      'Release a claim on a worktree (after the last claim, the worktree is removed)',
    ],
  ],
  'worktrees merge': [
    ['worktrees merge fix-login', 'Show a preview, and merge after your confirmation'],
    [
      'worktrees merge fix-login --into release --squash --yes',
      'Merge the worktree as one commit, without confirmation',
    ],
  ],
  'worktrees rebase': [['worktrees rebase fix-login --onto main', '']],
  'worktrees pr': [
    [
      'worktrees pr fix-login --push --draft',
      'Push the branch, and open a draft pull request with gh',
    ],
  ],
  'worktrees cleanup': [['worktrees cleanup fix-login', '']],
  'worktrees restore': [
    ['worktrees restore 9a8b7c6d', 'Restore the commits and uncommitted changes of a worktree'],
  ],
  'worktrees gc': [
    ['worktrees gc', 'Show the worktrees that no session claims'],
    ['worktrees gc --remove', 'Archive and remove the worktrees that no session claims'],
  ],
  'teams list': [['teams list --all', 'List all teams, including deleted teams']],
  'teams export': [
    ['teams export shop --file shop.html', 'Write the turns of all members to an HTML file'],
  ],
  'teams show': [
    ['teams show shop', 'Show the members and latest messages of a team'],
    ['teams show shop --watch', 'Redraw the view of a team after each change'],
  ],
  'teams create': [['teams create shop --lead 1b2c3d4e --member 5f6a7b8c', '']],
  'teams delete': [['teams delete shop', '']],
  'teams add': [['teams add shop 5f6a7b8c --title reviewer', '']],
  'teams remove': [['teams remove shop reviewer', 'Remove the member with the title reviewer']],
  'teams lead': [['teams lead shop 5f6a7b8c', '']],
  'teams spawn': [
    ['teams spawn shop "Write the tests." --source 1b2c3d4e --title tester --worktree tests', ''],
  ],
  'teams interrupt-all': [['teams interrupt-all shop', '']],
  'teams message': [
    ['teams message shop reviewer "Review the last commit." --priority high', ''],
    ['teams message shop reviewer -', 'Send a message with a text from stdin'],
  ],
  'teams broadcast': [['teams broadcast shop "The release is today."', '']],
  'teams messages': [['teams messages shop', '']],
  'teams deliveries': [
    ['teams deliveries shop --status failed', 'List failed message deliveries with their errors'],
  ],
  'teams retry': [['teams retry shop 2c3d4e5f', '']],
  'teams cancel': [['teams cancel shop 6a7b8c9d', '']],
  'events tail': [
    ['events tail --session fe7289aa', 'Show the events of one session'],
    [
      'events tail --json --kind "turn.*" --cursor-file cursor',
      'Show the events after the last event of the previous run',
    ],
  ],
  'mcp serve': [['mcp serve', 'Serve tools to the agent that starts this command']],
  'mcp install': [
    [
      'mcp install claude',
      "Install cadre's tools in claude, and ask whether claude may run commands",
    ],
    [
      'mcp install codex --permission-mode full_access',
      "Install cadre's tools in codex, and let codex run commands",
    ],
    [
      'mcp install gemini --session fe7289aa',
      'Let gemini call process and team tools for a session',
    ],
    ['mcp install opencode --print', 'Print the configuration change, but do not write the file'],
  ],
  'mcp uninstall': [['mcp uninstall claude', '']],
  'mcp list': [
    ['mcp list', "List agents in which cadre's tools are installed, and the last use of the tools"],
  ],
  'mcp tools': [['mcp tools', '']],
  'mcp call': [
    ['mcp call cadre_process_run --as fe7289aa --arg command="npm test"', ''],
    [
      'mcp call cadre_process_status --as fe7289aa --args "{}"',
      'Call a tool with arguments as JSON',
    ],
  ],
  acp: [
    ['acp', 'Connect cadre to the editor that starts this command'],
    ['acp --provider codex', 'Use Codex for new sessions'],
    ['acp --session "long job"', 'Use an existing session instead of a new session'],
  ],
  'fleet init': [
    [
      'fleet init --print-nats-config --host 10.0.0.1 --node a --node b --person alice',
      'Print the NATS configuration (nats.conf), and create all keys',
    ],
    ['fleet init --fleet nats://10.0.0.1:4222', 'Create the fleet with the admin key'],
  ],
  'fleet status': [['fleet status --fleet nats://10.0.0.1:4222', '']],
  'fleet nodes replace': [
    [
      'fleet nodes replace gpu --yes',
      'Free the node name gpu after its server was lost, so that a new server can use the name',
    ],
  ],
  'tokens list': [['tokens list', '']],
  'tokens create': [
    [
      'tokens create prometheus --scope read --expires 30d',
      'Create an API token, and print the secret of the token',
    ],
  ],
  'tokens revoke': [['tokens revoke prometheus', 'Revoke the API token with the name prometheus']],
  'db backup': [['db backup copy.cadre', '']],
  'db restore': [['db restore copy.cadre', 'Replace a lost or damaged database with a backup']],
  'db rollback': [
    ['db rollback', 'Restore the data from before the last upgrade of cadre'],
    ['db rollback --yes --json', 'Roll back without confirmation, and print JSON'],
  ],
  'db check': [
    ['db check', 'Check the data of this machine'],
    ['db check copy.cadre', 'Check a backup of the database'],
  ],
  'config show': [
    [
      'config show --origin',
      'Show whether each value comes from the file, the environment or a default',
    ],
  ],
  'config check': [['config check', '']],
  'config path': [['config path', '']],
  doctor: [
    ['doctor', ''],
    ['doctor --agents', 'Check the machine, and also start each ACP agent'],
  ],
  top: [
    ['top', 'Open the interactive screen (on a terminal)'],
    ['top --json', 'Print the current sessions, approvals and processes as one JSON document'],
  ],
  status: [['status', '']],
  completion: [['completion bash', 'Print the completion script for bash']],
  'diagnostics all': [['diagnostics all --json', '']],
  'diagnostics recovery': [['diagnostics recovery', '']],
  'diagnostics providers': [['diagnostics providers', '']],
  'diagnostics processes': [['diagnostics processes', '']],
  'diagnostics worktrees': [['diagnostics worktrees', '']],
  'diagnostics comms': [['diagnostics comms', '']],
  'diagnostics storage': [['diagnostics storage', '']],
  metrics: [['metrics', '']],
  licenses: [['licenses', '']],
  upgrade: [['upgrade', '']],
  version: [['version', '']],
  help: [['help sessions send', 'Show the same help as cadre sessions send --help']],
};
