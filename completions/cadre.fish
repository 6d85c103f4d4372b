# Completes cadre in fish.
function __cadre_offers
    printf '%s' 'cadre
	serve		run the server in the foreground
	run		open a session, send one turn, stream what comes of it
	sessions		sessions of agents and their turns
	approvals		what agents ask you for
	providers		whose agents this server can run
	processes		commands that the server runs
	worktrees		git worktrees of sessions
	teams		sessions that work together
	events		the log of everything that happens
	mcp		the tools of sessions\' agents
	tokens		tokens for other programs
	db		the database: copies of it, and whether it is whole
	config		the configuration a server would start with
	doctor		check what cadre needs, and say what to do; ends with 1 where something failed
	top		what goes on, as it goes on: sessions, what waits for an answer, processes
	status		how the server is doing
	completion		print the script that completes cadre in a shell
	diagnostics		how the server is, part by part
	metrics		the figures of the server, as Prometheus reads them
	version		the version of this program
	help		show the help of a command
	-V		show the version
	--version		show the version
	--url	<url>	the server\'s address (CADRE_URL)
	--token-file	<file>	a file with the API token (CADRE_TOKEN: the token itself)
	--data-dir	<directory>	the data directory (CADRE_DATA_ROOT_DIR)
	--json		write JSON: one document, or one record a line for streams
	-h		display help for command
	--help		display help for command
cadre serve
	--config	<file>	the configuration (CADRE_CONFIG)
	--bind	<host:port>	the address to listen on
	--port	<port>	the port to listen on, on 127.0.0.1; 0 takes a free one
	--log-level	trace|debug|info|warn|error|fatal|silent	what is logged
	--allow-remote		let --bind name an address that other machines reach
	--demo		use the built-in demo agent as the acp provider: no account, no model
cadre run
		<text>
	--provider	codex|claude|acp	whose agent
	--model	<model>	a model of the provider
	--cwd	<directory>	where the agent works (default: here)
	--permission-mode	<mode>	what the agent may do; require_approval: it asks you
	--title	<title>	a name for people
cadre sessions
	create		open a session
	list		list sessions, newest first
	get		show a session
	send		send a turn and stream what comes of it
	turns		list the turns of a session, newest first
	items		show what a turn said and did, whole
	item		show one thing that a turn said or did, whole
	interrupt		ask for the running turn to end
	close		close a session for good
	resume		bring a failed session back, if its provider still has it
	help		show the help of a command
cadre sessions create
	--provider	codex|claude|acp	whose agent
	--model	<model>	a model of the provider
	--cwd	<directory>	where the agent works (default: here)
	--permission-mode	<mode>	what the agent may do; require_approval: it asks you
	--title	<title>	a name for people
	--metadata	<json>	any JSON, kept with the session
cadre sessions list
	--status	ready|running|waiting_for_approval|closed|failed
	--provider	codex|claude|acp
	-L	<n>	how many at most
	--limit	<n>	how many at most
cadre sessions get
		<session>
cadre sessions send
		<session>
		<text>
	--no-wait		do not wait for the turn to end
	--expect	<turn>	refuse unless this is the most recent turn
	--permission-mode	<mode>	for this turn only
	--model	<model>	for this turn only
	--image	<file>...	an image to show the agent
cadre sessions turns
		<session>
	-L	<n>	how many at most
	--limit	<n>	how many at most
cadre sessions items
		<session>
		<turn>
cadre sessions item
		<session>
		<item>
	--turn	<turn>	the turn it is of (default: the most recent)
cadre sessions interrupt
		<session>
		<turn>
cadre sessions close
		<session>
	--reason	<text>	why, for the record
cadre sessions resume
		<session>
cadre sessions help
		<command>...
cadre approvals
	list		list approvals, newest first
	show		show an approval with all that was asked
	accept		allow it, for this once
	decline		refuse it
	help		show the help of a command
cadre approvals list
	--status	pending|accepted|declined|expired|cancelled
	--session	<session>	only of this session
cadre approvals show
		<approval>
cadre approvals accept
		<approval>
	--reason	<text>	why, for the agent and the record
cadre approvals decline
		<approval>
	--reason	<text>	why, for the agent and the record
cadre approvals help
		<command>...
cadre providers
	list		list the providers, what they can do and whether they are healthy
	models		list the models of a provider
	auth		whether the agent is logged in, as far as can be told
	login		give an agent a login, kept in its private home: an API key from stdin, or a file
	logout		end the login in the private home of an agent
	help		show the help of a command
cadre providers list
cadre providers models
		codex|claude|acp
cadre providers auth
		codex|claude|acp
cadre providers login
		codex|claude
	--auth-json	<file>	codex\'s own auth.json, made elsewhere, instead of a key
cadre providers logout
		codex|claude
cadre providers help
		<command>...
cadre processes
	run		run a command; it ends with the server, whatever becomes of this terminal
	list		list processes, newest first
	show		show a process
	logs		show the end of what a process printed
	wait		wait for the end of a process, a port that answers, or a text in its output
	kill		end a process and all it started
	restart		run the command of a process again, as a new process; the old one is ended
	help		show the help of a command
cadre processes run
		<command>...
	--cwd	<directory>	where it runs (default: here, or the session\'s directory)
	--session	<session>	whose it is: it ends with that session
	--timeout	<time>	how long it may run: 10s, 5m, 1h30m (default: for ever)
	--notify		tell the session of its end, as a turn
	--wait		wait for its end, and end as it ended
	--follow		show what it prints, pass on what is typed, and end as it ended
cadre processes list
	--session	<session>	only of this session
	--status	queued|running|completed|failed|timed_out|killed
	-L	<n>	how many at most
	--limit	<n>	how many at most
cadre processes show
		<process>
cadre processes logs
		<process>
	--stream	stdout|stderr|both	which
	--tail	<lines>	how many lines of each stream (default: 200; with --follow, all)
	--max-bytes	<bytes>	how many bytes of each stream
	-f		show what comes, too, until the process ends
	--follow		show what comes, too, until the process ends
cadre processes wait
		<process>
	--for	<what>	exit, port:N or log:TEXT
	--timeout	<time>	how long at most: 10s, 5m, 1h30m (default: for ever)
cadre processes kill
		<process>
	--reason	<text>	why, for the record
cadre processes restart
		<process>
cadre processes help
		<command>...
cadre worktrees
	list		list worktrees, newest first
	show		show a worktree and its claims
	create		make a worktree for a session, or claim the one of that name; shows its path
	trust		show the init script and the filters of a repository, and allow them by their content
	untrust		allow content of a repository no more
	list-trusted		list what repositories bring and may run here, newest first
	claim		claim a worktree for a session: while it is claimed, it stays
	release		release the claim of a session; with the last one the worktree is cleaned up
	cleanup		remove a worktree that nobody claims, its work archived
	restore		bring back what was archived: branch, commits, and what was not committed
	gc		show what nobody claims, or clean it up
	help		show the help of a command
cadre worktrees list
	--repo	<directory>	only of this repository
	--status	active|retained|cleaned|missing	only with this status
	-L	<n>	how many at most
	--limit	<n>	how many at most
cadre worktrees show
		<worktree>
cadre worktrees create
		<name>
	--session	<session>	whose it is
	--repo	<directory>	the repository (default: the session\'s)
	--base	<ref>	where it begins (default: what is checked out)
	--branch-prefix	<prefix>	of its branch (default: cadre)
	--policy	delete_on_last_claim|retain_on_last_claim|delete_if_clean	what becomes of it
	--no-init		do not run the init script
	--init-if-trusted		run the init script only where its content is allowed
cadre worktrees trust
	--repo	<directory>	the repository
	--sha256	<digest>	allow this content, which was read elsewhere, without asking
	--yes		allow all that is shown, without asking
cadre worktrees untrust
		<sha256>
	--repo	<directory>	the repository
cadre worktrees list-trusted
	--repo	<directory>	only of this repository
cadre worktrees claim
		<worktree>
	--session	<session>	who claims it
	--role	owner|consumer	as what
cadre worktrees release
		<worktree>
	--session	<session>	whose claim
	--keep		do not clean it up, even if this was the last claim
cadre worktrees cleanup
		<worktree>
	--reason	<text>	why, for the record
cadre worktrees restore
		<worktree>
	--name	<name>	another name, where its own is taken
cadre worktrees gc
	--remove		clean it up, its work archived
cadre worktrees help
		<command>...
cadre teams
	list		list teams, newest first
	create		make a team of sessions
	delete		delete a team; its sessions go on
	add		add a session to a team
	remove		take a session out of a team
	lead		make a member the lead
	spawn		open a session as a member of a team
	interrupt-all		ask for the turns of all members to end
	message		say something to a member
	broadcast		say something to all members
	show		show who is in a team, what they do, and what was said last
	messages		list what was said in a team, newest first
	deliveries		list deliveries, newest first
	retry		try a delivery again
	cancel		take a message back from those who have not got it
	help		show the help of a command
cadre teams list
	-L	<n>	how many at most
	--limit	<n>	how many at most
	--all		deleted ones too
cadre teams create
		<name>
	--lead	<session>	who leads it
	--member	<session>...	who else is in it
cadre teams delete
		<team>
cadre teams add
		<team>
		<session>
	--title	<title>	what it is there for
cadre teams remove
		<team>
		<member>
cadre teams lead
		<team>
		<member>
cadre teams spawn
		<team>
		<prompt>
	--source	<session>	the member that wants it: what is not said is as there
	--title	<title>	what it is there for
	--provider	codex|claude|acp	whose agent
	--model	<model>	a model of the provider
	--preset	<name>	one of teams.model_presets, instead of provider and model
	--permission-mode	<mode>	what the agent may do
	--worktree	<name>	let it work in a git worktree, made where there is none
	--branch-prefix	<prefix>	what the branch of that worktree begins with
	--base	<ref>	what that branch starts from
	--no-init		do not run the init script of the repository
	--metadata	<json>	any JSON, stored with the session
	--image	<file>...	an image to show the agent
cadre teams interrupt-all
		<team>
cadre teams message
		<team>
		<member>
		<text>
	--from	<member>	who says it (default: the lead)
	--priority	high|normal|low
	--policy	non_interrupting|start_new_turn_only|interrupt_after_tool_boundary|immediate_interrupt	whether it waits for the recipient
	--reply-to	<message>	the message that this answers
	--correlation-id	<id>	a name for what belongs together
	--image	<file>...	an image to show the recipient
cadre teams broadcast
		<team>
		<text>
	--from	<member>	who says it (default: the lead)
	--priority	high|normal|low
	--policy	non_interrupting|start_new_turn_only|interrupt_after_tool_boundary|immediate_interrupt	whether it waits for the recipient
	--reply-to	<message>	the message that this answers
	--correlation-id	<id>	a name for what belongs together
	--image	<file>...	an image to show the recipient
	--include-sender		to the sender, too
cadre teams show
		<team>
	-L	<n>	how many messages at most
	--limit	<n>	how many messages at most
	--watch		show it again whenever something has changed, until it is interrupted
cadre teams messages
		<team>
	-L	<n>	how many at most
	--limit	<n>	how many at most
cadre teams deliveries
		<team>
	--status	pending|deferred|injecting|injected|failed|cancelled
	--to	<member>	only to this member
	--message	<message>	only of this message
	-L	<n>	how many at most
	--limit	<n>	how many at most
cadre teams retry
		<team>
		<delivery>
cadre teams cancel
		<team>
		<message>
cadre teams help
		<command>...
cadre events
	tail		show events, stored ones first, then live ones
	help		show the help of a command
cadre events tail
	--session	<session>	only of this session
	--process	<process>	only of this process
	--team	<team>	only of this team
	--kind	<kind>...	only of these kinds: turn.completed, or all of a group as turn.*
	--after-seq	<seq>	only after this event; "latest": only what is new
	--since	<time>	only what is newer: 30s, 5m, 2h, 7d, or a date
	--cursor-file	<file>	go on where the last run with this file stopped
	--no-follow		end with the newest stored event
cadre events help
		<command>...
cadre mcp
	serve		serve the tools of one session over MCP, on stdin and stdout: what an agent starts
	tools		list the tools that sessions may call
	call		call a tool as a session, and print the envelope
	help		show the help of a command
cadre mcp serve
cadre mcp tools
cadre mcp call
		<tool>
	--as	<session>	the session that calls: its id, or the end of it
	--arg	<name=value>	an argument: text where the tool takes text, else JSON
	--args	<json>	all arguments, as one object
cadre mcp help
		<command>...
cadre tokens
	list		list tokens, newest first
	create		make a token and print its secret, this once
	revoke		take a token back: its streams end, and requests with it are refused
	help		show the help of a command
cadre tokens list
cadre tokens create
		<name>
	--scope	admin|read|tools	what it may do: everything, read, or call tools alone
	--expires	<time>	how long it is good: 12h, 30d; without it, until it is revoked
cadre tokens revoke
		<token>
cadre tokens help
		<command>...
cadre db
	backup		copy the database into one file, also while the server runs: the events.cadre of a new data directory
	check		check the database, or a copy of it; ends with 1 where something is damaged
	help		show the help of a command
cadre db backup
		<file>
	--config	<file>	the configuration (CADRE_CONFIG)
cadre db check
		<file>
	--config	<file>	the configuration (CADRE_CONFIG)
cadre db help
		<command>...
cadre config
	show		show every key with its value; secrets are masked
	check		say everything that is wrong with the configuration, a line each; ends with 0 or 2
	path		print the file that would be read
	help		show the help of a command
cadre config show
	--config	<file>	the configuration (CADRE_CONFIG)
	--origin		show where each value comes from
cadre config check
	--config	<file>	the configuration (CADRE_CONFIG)
cadre config path
	--config	<file>	the configuration (CADRE_CONFIG)
cadre config help
		<command>...
cadre doctor
	--config	<file>	the configuration (CADRE_CONFIG)
cadre top
cadre status
cadre completion
		bash|zsh|fish
cadre diagnostics
	all		everything at once
	recovery		what the last start found and mended
	providers		how each provider is, and its agents
	processes		how many processes run, wait and ended how
	worktrees		how many worktrees there are, by status
	comms		how many teams, messages and deliveries there are
	storage		how much is stored, and how much may be
	help		show the help of a command
cadre diagnostics all
cadre diagnostics recovery
cadre diagnostics providers
cadre diagnostics processes
cadre diagnostics worktrees
cadre diagnostics comms
cadre diagnostics storage
cadre diagnostics help
		<command>...
cadre metrics
cadre version
cadre help
		<command>...
' | awk '
BEGIN { FS = "\t"; last = ARGC - 1; ARGC = 1 } # no files: the table comes on stdin
NF == 1 { place = $1; next }
$2 == "" { operand[place, operands[place]++] = $3; next }
{
  taken[place, $2] = $3
  kind = $2 ~ /^-/ ? "flags" : "commands"
  offers[place, kind] = offers[place, kind] $2 FS $4 "\n"
}
END {
  here = "cadre"; count = 0
  for (i = 1; i < last; i++) {
    if (ARGV[i] == "=") continue # bash cuts --flag=value in three
    if (wanted) wanted = ""
    else if (ARGV[i] ~ /^-/)
      for (at = here; at && !wanted; sub(/ ?[^ ]+$/, "", at)) wanted = taken[at, ARGV[i]]
    else if ((here, ARGV[i]) in taken) here = here " " ARGV[i]
    else if (operand[here, count] !~ /[.][.][.]$/) count++
  }
  if (!wanted && ARGV[last] ~ /^-/) {
    for (at = here; at; sub(/ ?[^ ]+$/, "", at)) printf "%s", offers[at, "flags"]
    exit
  }
  if (!wanted && !count) printf "%s", offers[here, "commands"]
  if (!wanted) wanted = operand[here, count]
  sub(/[.][.][.]$/, "", wanted)
  if (wanted == "<session>") {
    FS = " " # from now on; where no server runs nothing comes
    while (("cadre sessions list --limit 50 2>/dev/null </dev/null" | getline) > 0)
      if (heading++ && $1 ~ /^[0-9a-z_]+$/) print $1
  } else if (wanted !~ /^<|^$/ || wanted ~ /^<(file|directory)>$/) {
    gsub(/[|]/, "\n", wanted)
    print wanted
  }
}
' $argv
end

function __cadre_complete
    set -l before (commandline -opc)[2..]
    set -l current (commandline -ct)
    # --flag=value is one word to fish: what is offered starts with the flag.
    set -l start (string match -r -- '^--[^=]+=' "$current")
    if set -q start[1]
        set -a before (string trim -r -c = -- $start)
        set current (string replace -- $start '' $current)
    end
    set -l offers (__cadre_offers $before "$current")
    contains '<file>' $offers; and set offers (__fish_complete_path "$current")
    contains '<directory>' $offers; and set offers (__fish_complete_directories "$current")
    for offer in $offers
        printf '%s\n' "$start$offer"
    end
end
complete -c cadre -f -a '(__cadre_complete)'
