/** A command line without `cadre`, and what it does. */
export type Example = readonly [line: string, does: string];

/**
 * Examples for the help of each command, by its path. The keys are also the commands that a misspelled one is compared
 * with. A test checks that every command has an example, and that each of them parses.
 */
export const examples: Readonly<Record<string, readonly Example[]>> = {
  serve: [
    ['serve', 'a server with the configured providers'],
    ['serve --demo --port 0', 'with a demo agent, on a free port'],
    ['serve --detach', 'in the background; cadre service stop ends it'],
  ],
  'service install': [
    ['service install', 'for systemd or launchd, whichever this machine has'],
    ['service install --print', 'shows the unit, and changes nothing'],
  ],
  'service uninstall': [['service uninstall', '']],
  'service status': [['service status --json', 'for a program']],
  'service logs': [['service logs --tail 200 -f', 'and what comes']],
  'service stop': [['service stop', '']],
  run: [
    ['run "explain this repository"', 'one session, one turn, streamed'],
    ['run --permission-mode require_approval "tidy up"', 'the agent asks before it acts'],
    [
      'run --agent gemini --agent-mode plan "how does it work?"',
      'an agent of acp, in a mode of its own',
    ],
    ['run -c "and now the tests"', 'goes on with the latest session of this directory'],
    ['run --worktree fix-login "fix the login"', 'in a git worktree of its own'],
    ['run --on gpu "fix the login"', 'on one of several servers, by its name'],
  ],
  diff: [
    ['diff fe7289aa', 'what its agent changed, in a pager on a terminal'],
    ['diff fe7289aa --stat', 'the files alone'],
    ['diff fe7289aa --head src', 'what is not committed below src'],
    ['diff fe7289aa --at 1b2c3d4e', 'what one turn changed'],
  ],
  'sessions snapshots': [
    ['sessions snapshots fe7289aa on', 'keeps its files at the beginning and end of each turn'],
    ['sessions snapshots fe7289aa', 'those that there are'],
  ],
  'sessions files': [
    ['sessions files fe7289aa --at 1b2c3d4e', 'what that turn changed'],
    ['sessions files fe7289aa --at 1b2c3d4e --tree src', 'what there was below src at its end'],
  ],
  'sessions restore': [
    [
      'sessions restore fe7289aa src/auth.ts --before 1b2c3d4e',
      'takes back what that turn did to it',
    ],
    [
      'sessions restore fe7289aa src/auth.ts --at 1b2c3d4e --force',
      'keeps what is there beside it',
    ],
  ],
  'sessions create': [
    ['sessions create --title "long job"', 'prints the id of the session'],
    ['sessions create --on gpu', 'on one of several servers, by its name'],
    ['sessions create --agent gemini --agent-mode plan', 'an agent of acp, in a mode of its own'],
  ],
  'sessions attach': [
    ['sessions attach', 'the latest session of this directory'],
    ['sessions attach "long job"', 'by its title'],
  ],
  'sessions show': [
    ['sessions show fe7289aa', 'what was asked, said and done'],
    ['sessions show fe7289aa --markdown', 'as a document'],
    ['sessions show fe7289aa --turn turn_019aa8d411aa7f0e8d1c0b9e4f7a6c33', 'one turn'],
  ],
  'sessions wait': [
    ['sessions wait fe7289aa 1b2c3d4e --timeout 10m', 'until no turn of both runs'],
    ['sessions wait --any fe7289aa 1b2c3d4e', 'until one of them is idle'],
  ],
  'sessions commands': [['sessions commands fe7289aa', 'what may follow / in a prompt']],
  'sessions rename': [['sessions rename fe7289aa "the login"', '']],
  'sessions after-limit': [['sessions after-limit fe7289aa wait', 'it goes on when you say so']],
  'sessions list': [
    ['sessions list --status ready', 'those that wait for a turn'],
    ['sessions list --limit 500 --json', 'whole records, for a program'],
  ],
  'sessions get': [['sessions get fe7289aa', 'by the end of its id']],
  'sessions send': [
    ['sessions send fe7289aa "and now the tests"', 'waits for the end of the turn'],
    ['sessions send fe7289aa "what is this?" --image shot.png', 'with an image'],
    ['sessions send fe7289aa --queue "then the docs"', 'once the session is free'],
    ['sessions send fe7289aa --at 18:00 "go on"', 'at a time'],
    [
      'sessions send fe7289aa --every "0 8 * * MON-FRI" --name morning "what is new?"',
      'again and again',
    ],
  ],
  'sessions turns': [['sessions turns "long job"', 'by its title']],
  'sessions items': [['sessions items fe7289aa', 'of the most recent turn']],
  'sessions item': [
    ['sessions item fe7289aa item_01a1fbd295577217bffe936eec974423', 'of the most recent turn'],
  ],
  'sessions interrupt': [['sessions interrupt fe7289aa', 'the turn that runs']],
  'sessions close': [['sessions close fe7289aa --reason "it is done"', '']],
  'sessions resume': [['sessions resume fe7289aa', '']],
  review: [
    ['review fe7289aa', 'the diff with all comments, in $VISUAL or $EDITOR'],
    ['review fe7289aa --comment src/auth.ts:12 "what if there is none?"', 'for scripts'],
    ['review fe7289aa --comment src/auth.ts:12-14 "simplify this"', 'on several lines'],
  ],
  'review show': [['review show fe7289aa', 'with what is stale']],
  'review drop': [
    ['review drop fe7289aa 9f8e7d6c', 'one comment'],
    ['review drop fe7289aa --all --yes', ''],
  ],
  'review send': [
    ['review send fe7289aa', 'all comments, as one turn'],
    ['review send fe7289aa "only the tests, please" --queue', 'once the session is free'],
  ],
  search: [
    ['search login page', 'both words, anywhere'],
    ['search "the login page"', 'one after the other'],
    ['search --kind tool --since 2d npm*', 'commands of the last two days'],
    ['search --session fe7289aa --best cache -- -test', 'without the word test'],
    ['search --status', 'how far the index is'],
  ],
  'queue list': [
    ['queue list', 'of all sessions'],
    ['queue list --session fe7289aa', 'of one session, in its order'],
  ],
  'queue show': [['queue show morning', 'by its name']],
  'queue edit': [
    ['queue edit 1b2c3d4e "and the docs, too"', 'what it says'],
    ['queue edit morning --every "0 9 * * MON-FRI"', 'when it is due'],
  ],
  'queue move': [['queue move 1b2c3d4e --first', 'it becomes the next turn']],
  'queue pause': [
    ['queue pause morning --reason holidays', 'one entry'],
    ['queue pause --session fe7289aa --until 18:00', 'all that waits for a session'],
  ],
  'queue resume': [
    ['queue resume morning', 'what it has missed is skipped'],
    ['queue resume --session fe7289aa', 'also after an interrupt'],
  ],
  'queue drop': [['queue drop 1b2c3d4e --yes', 'without asking']],
  usage: [
    ['usage', 'of each of the last 30 days'],
    ['usage --by session --since 7d', 'which sessions used most'],
    ['usage --by provider --since all --json', 'all there ever was, for a program'],
  ],
  'budgets list': [
    ['budgets list', 'what is used, and what is used up'],
    ['budgets list --team shop', 'of one team'],
  ],
  'budgets set': [
    [
      'budgets set --session fe7289aa --tokens 500k',
      'then it asks whether it may use as much again',
    ],
    ['budgets set --team shop --cost 20 --per day', 'each day anew'],
    ['budgets set --turns 200 --hard', 'of all sessions, a day; running turns are interrupted'],
  ],
  'budgets remove': [['budgets remove 1b2c3d4e', '']],
  'approvals list': [
    ['approvals list', 'what waits for an answer'],
    ['approvals list --status declined', 'what was refused'],
  ],
  'approvals show': [['approvals show 0a1b2c3d', 'all that the agent asked for']],
  'approvals accept': [['approvals accept 0a1b2c3d', '']],
  'approvals decline': [['approvals decline 0a1b2c3d --reason "use make clean"', '']],
  'approvals link': [
    ['approvals link 0a1b2c3d', 'prints the address of the page'],
    ['approvals link 0a1b2c3d --expires 8h', 'good until the morning'],
  ],
  'hooks list': [
    ['hooks list', 'who is behind, and why'],
    ['hooks list --json', 'for a program'],
  ],
  'hooks test': [['hooks test phone', 'an example of an event, now']],
  'hooks skip': [
    ['hooks skip phone', 'the event that it fails at'],
    ['hooks skip phone --all', 'all that wait'],
  ],
  'approvals rules list': [['approvals rules list', '']],
  'approvals rules add': [
    ['approvals rules add allow --command "git log **"', 'without options of git log'],
    ['approvals rules add allow --path "docs/**" --directory .', 'in sessions here'],
    ['approvals rules add deny --command "git push **" --reason "people push"', ''],
  ],
  'approvals rules remove': [['approvals rules remove 5d6e7f8a', '']],
  'approvals rules test': [
    ['approvals rules test "git log --oneline"', 'which rule decides, or why none does'],
    ['approvals rules test --path src/main.ts', ''],
  ],
  'providers list': [['providers list', '']],
  'providers discover': [
    ['providers discover', 'what is installed'],
    ['providers discover --all', 'and how to install the rest'],
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
    ['providers login claude', 'asks for an API key'],
    ['providers login codex --auth-json auth.json', 'with a login that was made elsewhere'],
    ['providers login acp --agent gemini', 'asks which of its methods'],
  ],
  'providers logout': [
    ['providers logout claude', ''],
    ['providers logout acp --agent gemini', ''],
  ],
  'processes run': [
    ['processes run "npm run dev"', 'prints its id'],
    ['processes run --follow --timeout 5m "npm test"', 'ends as the command does'],
  ],
  'processes list': [['processes list --status running', '']],
  'processes show': [['processes show 8f568c7e', 'by the end of its id']],
  'processes logs': [
    ['processes logs 8f568c7e --tail 20', 'the end of what it printed'],
    ['processes logs 8f568c7e --follow --tail 20', 'and what comes'],
  ],
  'processes wait': [
    ['processes wait 8f568c7e --for port:3000', 'until the port answers'],
    ['processes wait "npm test" --timeout 10m', 'until it has ended'],
  ],
  'processes restart': [
    ['processes restart "npm run dev"', 'as a new process, whose id it prints'],
  ],
  'processes kill': [['processes kill 8f568c7e --reason "wrong port"', '']],
  'worktrees list': [['worktrees list --repo .', 'of this repository']],
  'worktrees show': [['worktrees show fix-login', 'by its name']],
  'worktrees create': [
    ['worktrees create fix-login --session 1b2c3d4e', 'on the branch cadre/fix-login'],
  ],
  'worktrees trust': [
    ['worktrees trust', 'the scripts of this repository, after you have read them'],
  ],
  'worktrees untrust': [['worktrees untrust', 'all scripts of this repository']],
  'worktrees list-trusted': [['worktrees list-trusted', '']],
  'worktrees claim': [['worktrees claim fix-login --session 1b2c3d4e', '']],
  'worktrees release': [
    ['worktrees release fix-login --session 1b2c3d4e', 'with the last claim it is cleaned up'],
  ],
  'worktrees merge': [
    ['worktrees merge fix-login', 'shows what would happen, and asks'],
    ['worktrees merge fix-login --into release --squash --yes', 'as one commit, without asking'],
  ],
  'worktrees rebase': [['worktrees rebase fix-login --onto main', '']],
  'worktrees pr': [
    ['worktrees pr fix-login --push --draft', 'pushes its branch, and opens a draft with gh'],
  ],
  'worktrees cleanup': [['worktrees cleanup fix-login', '']],
  'worktrees restore': [['worktrees restore 9a8b7c6d', 'with all that was in it']],
  'worktrees gc': [
    ['worktrees gc', 'shows what nobody claims'],
    ['worktrees gc --remove', 'cleans it up'],
  ],
  'teams list': [['teams list --all', 'deleted ones too']],
  'teams show': [
    ['teams show shop', 'who is at what, what was said last'],
    ['teams show shop --watch', 'the same, as it changes'],
  ],
  'teams create': [['teams create shop --lead 1b2c3d4e --member 5f6a7b8c', '']],
  'teams delete': [['teams delete shop', '']],
  'teams add': [['teams add shop 5f6a7b8c --title reviewer', '']],
  'teams remove': [['teams remove shop reviewer', 'by its title in the team']],
  'teams lead': [['teams lead shop 5f6a7b8c', '']],
  'teams spawn': [
    ['teams spawn shop "Write the tests." --source 1b2c3d4e --title tester --worktree tests', ''],
  ],
  'teams interrupt-all': [['teams interrupt-all shop', '']],
  'teams message': [
    ['teams message shop reviewer "Review the last commit." --priority high', ''],
    ['teams message shop reviewer -', 'the text comes from stdin'],
  ],
  'teams broadcast': [['teams broadcast shop "The release is today."', '']],
  'teams messages': [['teams messages shop', '']],
  'teams deliveries': [['teams deliveries shop --status failed', 'what did not arrive, and why']],
  'teams retry': [['teams retry shop 2c3d4e5f', '']],
  'teams cancel': [['teams cancel shop 6a7b8c9d', '']],
  'events tail': [
    ['events tail --session fe7289aa', 'of one session, as it happens'],
    [
      'events tail --json --kind "turn.*" --cursor-file cursor',
      'for a program that continues where it stopped',
    ],
  ],
  'mcp serve': [['mcp serve', 'what an agent starts; not for people']],
  'mcp install': [
    ['mcp install claude', 'asks whether claude may run commands'],
    ['mcp install codex --permission-mode full_access', 'it may'],
    ['mcp install gemini --session fe7289aa', 'as a session, with its teams'],
    ['mcp install opencode --print', 'only shows the change'],
  ],
  'mcp uninstall': [['mcp uninstall claude', '']],
  'mcp list': [['mcp list', 'which agents have the tools, and when they used them']],
  'mcp tools': [['mcp tools', '']],
  'mcp call': [
    ['mcp call cadre_process_run --as fe7289aa --arg command="npm test"', ''],
    ['mcp call cadre_process_list --as fe7289aa --args "{}"', 'with the arguments as JSON'],
  ],
  acp: [
    ['acp', 'what an editor starts; not for people'],
    ['acp --provider codex', 'with the agents of Codex'],
    ['acp --session "long job"', 'with a session that is there already'],
  ],
  'fleet init': [
    [
      'fleet init --print-nats-config --host 10.0.0.1 --node a --node b --person alice',
      'prints nats.conf, and makes the keys of all',
    ],
    ['fleet init --fleet nats://10.0.0.1:4222', 'makes the fleet, with the key of admin'],
  ],
  'fleet status': [['fleet status --fleet nats://10.0.0.1:4222', '']],
  'fleet nodes replace': [['fleet nodes replace gpu --yes', 'its former server is gone for good']],
  'tokens list': [['tokens list', '']],
  'tokens create': [
    ['tokens create prometheus --scope read --expires 30d', 'prints the secret, this once'],
  ],
  'tokens revoke': [['tokens revoke prometheus', 'by its name']],
  'db backup': [['db backup copy.cadre', '']],
  'db restore': [['db restore copy.cadre', 'in place of a lost or damaged database']],
  'db rollback': [
    ['db rollback', 'to the data from before the last upgrade'],
    ['db rollback --yes --json', 'in a script'],
  ],
  'db check': [
    ['db check', 'the database of this machine'],
    ['db check copy.cadre', 'a copy'],
  ],
  'config show': [['config show --origin', 'with where each value comes from']],
  'config check': [['config check', '']],
  'config path': [['config path', '']],
  doctor: [
    ['doctor', ''],
    ['doctor --agents', 'starts each agent, too'],
  ],
  top: [
    ['top', 'a screen on a terminal'],
    ['top --json', 'one document'],
  ],
  status: [['status', '']],
  completion: [['completion bash', 'prints the script for bash']],
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
  help: [['help sessions send', 'the same as cadre sessions send --help']],
};

/** The examples of a command as lines for its help; '' without any. */
export function exampleLines(path: string): string {
  const own = examples[path] ?? [];
  if (own.length === 0) return '';
  const width = Math.max(...own.map(([line]) => line.length));
  const lines = own.map(([line, does]) => `  cadre ${line.padEnd(width)}  ${does}`.trimEnd());
  return `\nExamples:\n${lines.join('\n')}`;
}
