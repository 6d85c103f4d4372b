# Every target runs on the pinned Node in node_modules, whatever Node the machine has.
export PATH := $(CURDIR)/node_modules/.bin:$(PATH)
N ?= 200
BENCH ?=
PREFIX ?= $(HOME)/.local
export DESTDIR
SEED ?=

.DEFAULT_GOAL := help

.PHONY: help
help: ## Show this list of targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-17s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# The packages of the lock file, without those for one kind of machine only.
PACKAGES = $(shell expr `grep -c '^    "node_modules/' package-lock.json` - `grep -c '^      "os": ' package-lock.json`)

node_modules/.installed: package.json package-lock.json
	@echo "Installing $(PACKAGES) packages with npm (about a minute)"
	npm ci --no-audit --no-fund
	@touch $@

.PHONY: deps
deps: node_modules/.installed ## Install the exact dependencies

.PHONY: build
build: deps ## Build the bundle dist/cadre.cjs if the sources have changed
	node scripts/build.mjs --unless-built

.PHONY: openapi
openapi: deps ## Generate openapi.yaml, docs/reference.md and docs/events.md from the endpoints and event kinds
	node scripts/openapi/write.mjs

.PHONY: release-data
release-data: build ## Store test data written by this version, for tests of later versions (once per release)
	node test/releases/make.main.ts

.PHONY: demo
demo: build ## Demonstrate recovery: SIGKILL the server during a turn and check that nothing is lost
	node scripts/demo.ts

.PHONY: check
check: deps ## Check types, lint rules, format, unused code, sizes, names, prose and merge conflict markers
	! git grep --line-number --extended-regexp '^(<{7}|>{7}) '
	node scripts/openapi/write-types.mjs
	tsc --noEmit
	oxlint --type-aware
	oxfmt --check
	knip
	node scripts/sizes.mjs
	node scripts/method-names.mjs
	node scripts/prose.mjs

.PHONY: sizes
sizes: deps ## Report file sizes, function sizes and import cycles; fail if a limit is exceeded
	node scripts/sizes.mjs

.PHONY: prose
prose: deps ## List the findings of the prose check (KIND=help, FOLDER=src/frontends/cli)
	node scripts/prose.mjs --list $(KIND) $(FOLDER)

.PHONY: test
test: deps ## Run the test suite (no network, no other software)
	vitest run

# What is about processes, their groups and their ends, and whatever else is read from /proc on Linux alone.
POSIX_TESTS = test/core/children test/server/work/processes test/server/maintenance/recovery test/core/config/registration test/core/lib/foreign-file \
  test/frontends/cli/cursor-file-links test/frontends/cli/doctor test/frontends/cli/several test/server/http/connections \
  test/frontends/tui/job-control test/frontends/terminal/job-control test/frontends/terminal/asking

# The suite leaves test/campaigns out.
CAMPAIGN = vitest run --config test/campaigns/vitest.config.ts

.PHONY: campaigns
campaigns: deps ## Run a small form of each test campaign, and the tables of the suite with all rows
	$(CAMPAIGN)

# Random parts: the suite has run README.md and some rows of each table, and over several changes each campaign runs.
RANDOM_BYTE = `od -An -N1 -tu1 /dev/urandom`
campaigns-part: export PART := $(or $(PART),$(shell expr $(RANDOM_BYTE) % 8 + 1))
campaigns-part: HALF := $(or $(HALF),$(shell expr $(RANDOM_BYTE) % 2 + 1))

.PHONY: campaigns-part
campaigns-part: deps ## Run a small form of half of the campaigns, an eighth of the pages, and all rows of an eighth of the tables (HALF=1 or 2, PART=1 to 8)
	@echo HALF=$(HALF) PART=$(PART)
	$(CAMPAIGN) test/campaigns --shard=$(HALF)/2
	$(CAMPAIGN) --exclude 'test/campaigns/**' --shard=$(PART)/8

.PHONY: pages
pages: export UPDATE_PAGES = 1
pages: deps ## Run every command of the docs again, and write what it prints into the pages (PAGE=docs/queue.md)
	vitest run test/docs/readme $(if $(PAGE),-t '$(PAGE)')
	$(CAMPAIGN) test/campaigns/pages $(if $(PAGE),-t '$(PAGE)')

.PHONY: test-posix
test-posix: export CADRE_TEST_ONLY_PLATFORM = posix
test-posix: export TEST_LENGTH = medium
test-posix: deps ## Run the tests of processes and recovery with ps instead of /proc, as on macOS
	vitest run $(POSIX_TESTS)
	$(CAMPAIGN) test/campaigns/tail test/campaigns/keeper

.PHONY: test-nodes
test-nodes: build ## Test the npm package with other Node versions from npm (NODES="22.12.0 ...")
	node test/package/nodes.main.ts

.PHONY: test-loaded
test-loaded: deps ## Run the test suite with 8 CPU-bound programs in parallel
	node scripts/test-loaded.mjs

.PHONY: crash
crash: build ## SIGKILL the server N times under load and check the data each time (N=200, SEED=...)
	N=$(N) SEED=$(SEED) node test/campaigns/crash/crash.main.ts

.PHONY: faults
faults: N = 1000
faults: build ## Kill servers, keepers, agents and processes N times and inject other faults while all features run, for at most MINUTES (N=1000, SEED=...)
	N=$(N) SEED=$(SEED) MINUTES=$(MINUTES) node test/campaigns/faults/faults.main.ts

.PHONY: tail
tail: deps ## Kill `events tail` KILLS times and its server SERVERS times under load (KILLS=100, SERVERS=20, SEED=...)
	TAIL_KILLS=$(or $(KILLS),100) SERVER_KILLS=$(or $(SERVERS),20) SEED=$(SEED) $(CAMPAIGN) test/campaigns/tail

.PHONY: power
power: deps ## Simulate power loss with 2,000 disk images
	TEST_LENGTH=long POWER_IMAGES=2000 vitest run test/core/store/power

.PHONY: fanout
fanout: deps ## Stream to 500 subscribers for 60 s, then 200 MB of events with one stalled subscriber
	FANOUT_FOLLOWERS=500 FANOUT_SECONDS=60 FANOUT_MEGABYTES=200 $(CAMPAIGN) test/campaigns/fanout

.PHONY: leavers
leavers: deps ## Disconnect 10,000 clients from streams at random times, then stop the server (SEED=...)
	LEAVERS=10000 SEED=$(SEED) TEST_LIMIT_MS=3600000 $(CAMPAIGN) test/campaigns/leavers

.PHONY: orphans
orphans: N = 1000
orphans: deps ## Kill the server N times while it runs process trees and check for orphans (N=1000, SEED=...)
	ORPHAN_KILLS=$(N) SEED=$(SEED) TEST_LIMIT_MS=21600000 $(CAMPAIGN) test/campaigns/orphans

.PHONY: processes
processes: deps ## Run 10,000 short commands, a command with 10 GB of output, and 1,000 races of kill, timeout and exit (SEED=...)
	COMMANDS=10000 PRINT_MB=10000 TEST_LIMIT_MS=7200000 $(CAMPAIGN) test/campaigns/processes
	RACES=1000 SEED=$(SEED) TEST_LIMIT_MS=3600000 vitest run test/server/work/processes/kill

.PHONY: races
races: deps ## Run 10,000 races of two approval decisions, and of two turns in a session (RACES=...)
	RACES=$(or $(RACES),10000) TEST_LIMIT_MS=3600000 vitest run test/server/conversations/sessions/races

.PHONY: queue
queue: deps ## Test the queue against a model for DAYS virtual days with clock jumps and kills (DAYS=10000, SEED=...)
	QUEUE_DAYS=$(or $(DAYS),10000) SEED=$(SEED) TEST_LIMIT_MS=43200000 vitest run test/server/conversations/queue/property

.PHONY: hooks
hooks: N = 10000
hooks: deps ## Deliver N events to hooks with a slow or stopped receiver and KILLS kills of the server (N=10000, KILLS=20, SEED=...)
	HOOK_EVENTS=$(N) HOOK_KILLS=$(or $(KILLS),20) SEED=$(SEED) TEST_LIMIT_MS=3600000 $(CAMPAIGN) test/campaigns/hooks

LENGTHS = test/core/access/attacker test/server/http/sessions test/core/lib/linear test/core/lib/exact-numbers test/server/work/processes/queue test/server/maintenance/retention/cut test/server/conversations/sessions/pool test/core/store/lock test/server/teams/property test/frontends/tui/panes/cost

.PHONY: lengths
lengths: deps ## Run the attack, race and property tests of the suite at full length
	TEST_LENGTH=long TEST_LIMIT_MS=3600000 vitest run $(LENGTHS)

.PHONY: merges
merges: N = 1000
merges: deps ## SIGKILL the server N times in merges, rebases, cleanups and restores (N=1000, SEED=..., FROM=0 is the first kill)
	KILLS=$(N) KILLS_FROM=$(FROM) SEED=$(SEED) TEST_LIMIT_MS=21600000 $(CAMPAIGN) test/campaigns/worktrees/killed

.PHONY: outlive
outlive: N = 1000
outlive: deps ## SIGKILL the server N times while turns run that outlive it (N=1000, SEED=...)
	KILLS=$(N) SEED=$(SEED) TEST_LIMIT_MS=21600000 $(CAMPAIGN) test/campaigns/outlive

.PHONY: conversations
conversations: N = 100
conversations: deps ## SIGKILL the server N times each in imports, checks of goals, forks and handoffs (N=100, SEED=...)
	KILLS=$(N) SEED=$(SEED) TEST_LIMIT_MS=21600000 vitest run $(patsubst %,test/server/conversations/%/killed,imports goals forks handoff)

.PHONY: contenders
contenders: N = 200
contenders: deps ## SIGKILL the server twice in each of N races (N=200, SEED=...)
	KILLS=$(N) SEED=$(SEED) TEST_LIMIT_MS=21600000 $(CAMPAIGN) test/campaigns/worktrees/races-killed

.PHONY: worktrees
worktrees: deps ## Test worktrees with 1,000 random programs of eight sessions and with hostile files (PROGRAMS=..., SEED=..., FROM=0 is the first program)
	WORKTREE_PROGRAMS=$(or $(PROGRAMS),1000) WORKTREE_FROM=$(or $(FROM),0) $(if $(SEED),WORKTREE_SEED=$(SEED)) TEST_LIMIT_MS=43200000 $(CAMPAIGN) test/campaigns/worktrees/programs
	WORKTREE_RUNS=100 $(if $(SEED),WORKTREE_SEED=$(SEED)) TEST_LIMIT_MS=43200000 $(CAMPAIGN) test/campaigns/worktrees/property
	WORKTREE_PLACES=all vitest run test/server/work/git/hostile

.PHONY: model
model: N = 20000
model: deps ## Compare the server with a model of its contract in N random programs (N=20000, SEED=..., FROM=0 is the first program)
	MODEL_PROGRAMS=$(N) MODEL_FROM=$(FROM) SEED=$(SEED) TEST_LIMIT_MS=86400000 $(CAMPAIGN) test/campaigns/model/model

.PHONY: wake
wake: N = 100000
wake: deps ## Run messages, turns, interrupts and kills of a team in all orders, and in N random orders (N=100000, SEED=..., FROM=0)
	WAKE_RACES=$(N) WAKE_FROM=$(FROM) SEED=$(SEED) TEST_LIMIT_MS=86400000 $(CAMPAIGN) test/campaigns/model/wake

.PHONY: upgrade
upgrade: export KILLS = 20
upgrade: deps ## Migrate data of each format since 7, with KILLS kills, full disks and 5 * KILLS power losses each (KILLS=20, SEED=...)
	SEED=$(SEED) TEST_LIMIT_MS=43200000 $(CAMPAIGN) test/campaigns/upgrade

.PHONY: upgrade-formats
upgrade-formats: deps ## Store data of formats for make upgrade, written by servers of old commits (FORMATS="7 22")
	node test/campaigns/upgrade/formats.main.ts $(FORMATS)

.PHONY: upgrade-back
upgrade-back: build ## Upgrade data of each format, roll back, and start the old server on them (FORMATS="7 22")
	node test/campaigns/upgrade/way-back.main.ts $(FORMATS)

.PHONY: damage
damage: deps ## Flip bits in databases, cut them, change pages and remove files beside them: nothing is lost without a word (ROUNDS=2000 SEED=1)
	DAMAGE_ROUNDS=$(or $(ROUNDS),2000) $(if $(SEED),SEED=$(SEED)) TEST_LIMIT_MS=7200000 $(CAMPAIGN) test/campaigns/damage

# About a hundredth of the inputs runs with the other campaigns.
.PHONY: fuzz
fuzz: N = 100000
fuzz: deps ## Feed N mutated inputs to each reader of foreign data, or to TARGET (N=100000, SEED=..., FROM=0 is the first input)
	FUZZ_INPUTS=$(N) SEED=$(SEED) FUZZ_TARGET=$(TARGET) FUZZ_FROM=$(FROM) TEST_LIMIT_MS=86400000 $(CAMPAIGN) test/campaigns/fuzz

.PHONY: hostile
hostile: deps ## Attack a server of another user with hostile files, children, requests and connections (ROUNDS=20)
	HOSTILE_ROUNDS=$(or $(ROUNDS),20) TEST_LIMIT_MS=7200000 $(CAMPAIGN) test/campaigns/hostile

.PHONY: sandbox
sandbox: export SANDBOX_TESTS = required
sandbox: export SANDBOX_KILLS = $(or $(KILLS),100)
sandbox: deps ## Attack the sandbox from inside and kill the server KILLS times; fails without bubblewrap (KILLS=100)
	TEST_LIMIT_MS=3600000 vitest run test/core/children/sandbox test/server/work/processes/sandbox test/server/work/worktrees/sandbox test/server/conversations/sessions/sandboxed
	TEST_LIMIT_MS=3600000 $(CAMPAIGN) test/campaigns/sandbox

.PHONY: screen
screen: deps ## Count the bytes that the screen writes for 10,000 deltas and for 10 s idle
	SCREEN_DELTAS=10000 SCREEN_IDLE_SECONDS=10 $(CAMPAIGN) test/campaigns/screen

.PHONY: pictures
pictures: deps ## Draw the pictures of the docs with the program in tmux (docs/pictures)
	node scripts/build.mjs --unless-built
	node scripts/pictures/write.ts

.PHONY: browser
browser: deps ## Answer an approval link in a headless browser with the size of a phone (installs chromium on Debian as root)
	command -v chromium chromium-browser google-chrome >/dev/null || (apt-get update && apt-get install -y --no-install-recommends chromium)
	$(CAMPAIGN) test/campaigns/browser

.PHONY: million
million: deps ## Compare start-up and first pages with 1,000,000 and with 10,000 events
	MILLION=1 TEST_LIMIT_MS=3600000 $(CAMPAIGN) test/campaigns/million

.PHONY: scale
scale: build ## Measure starts, lists, search, the screen and memory with up to 10,000 sessions, 1,000,000 events and 200 agents (ROUNDS=3, DIRECTORY=... keeps the data)
	SHARES="$(SHARES)" ROUNDS=$(ROUNDS) DIRECTORY="$(DIRECTORY)" node test/campaigns/scale/scale.main.ts

.PHONY: soak
soak: build ## Run a server with retention under mixed work and fail if memory, descriptors or data grow (MINUTES=240, SEED=...)
	MINUTES=$(MINUTES) SEED=$(SEED) node test/campaigns/soak/soak.main.ts

.PHONY: test-agents
test-agents: build ## Test with real agents, with loopback only; installs the agents into a test directory
	node test/real-agents/install.main.ts
	sh test/real-agents/loopback.sh vitest run --config test/real-agents/vitest.config.ts

.PHONY: test-agents-sandbox
test-agents-sandbox: export AGENTS_SANDBOX = require
test-agents-sandbox: build ## Run all tests of real agents in the sandbox of cadre; fails without bubblewrap
	node test/real-agents/install.main.ts
	SANDBOX_TESTS=required sh test/real-agents/loopback.sh vitest run --config test/real-agents/vitest.config.ts

.PHONY: test-agents-part
test-agents-part: export AGENTS = part
test-agents-part: build ## Run the main part of test-agents with Claude Code and Codex, in one minute
	node test/real-agents/install.main.ts
	sh test/real-agents/loopback.sh vitest run --config test/real-agents/vitest.config.ts

.PHONY: test-api
test-api: deps ## Test the server for 10 minutes with requests generated from openapi.yaml, and with generated clients (SEED=...)
	node test/campaigns/api/install.main.ts
	SEED=$(SEED) TEST_LIMIT_MS=1500000 sh test/real-agents/loopback.sh vitest run --config test/campaigns/api/vitest.config.ts

# Without Go there is no nats-server: the installation says so, and nothing is run.
WITH_NATS = node test/fleet/install.main.ts || exit $$(( $$? == 3 ? 0 : 1 ));
.PHONY: test-fleet
test-fleet: deps ## Test fleets with real NATS servers; installs NATS into a test directory and needs Go
	$(WITH_NATS) vitest run --config test/fleet/nats/vitest.config.ts

.PHONY: test-fleet-part
test-fleet-part: export FLEET = part
test-fleet-part: test-fleet ## Run a part of test-fleet in one minute

.PHONY: test-programs
test-programs: deps ## Install the programs of test-agents-part, test-api-part and test-fleet-part
	AGENTS=part node test/real-agents/install.main.ts
	node test/campaigns/api/install.main.ts
	$(WITH_NATS)

.PHONY: fleet
fleet: deps ## Inject each kind of failure into a fleet N times and check its stream and readers (N=200, SEED=...)
	$(WITH_NATS) FLEET_TIMES=$(N) FLEET_OUTAGE_SECONDS=90 SEED=$(SEED) TEST_LIMIT_MS=43200000 vitest run --config test/fleet/nats/vitest.config.ts test/campaigns/fleet

.PHONY: bench-fleet
bench-fleet: deps ## Measure the fleet mirror and 20 nodes with real NATS servers; needs Go
	$(WITH_NATS) node bench/fleet.ts

.PHONY: test-api-part
test-api-part: export API = part
test-api-part: deps ## Run a part of test-api in one minute, with the same requests each time
	node test/campaigns/api/install.main.ts
	sh test/real-agents/loopback.sh vitest run --config test/campaigns/api/vitest.config.ts

.PHONY: bench
bench: build ## Measure all workloads and minimal baselines (BENCH="turn --short --json", see bench/run.ts --help)
	node bench/run.ts $(BENCH)

.PHONY: bench-check
bench-check: build ## Report regressions of more than 15 % against bench/stored (BENCH="turn replay")
	node bench/check.ts $(BENCH)

.PHONY: bench-page
bench-page: deps ## Generate the tables and the chart of docs/performance.md from bench/stored (BENCH="FILE...")
	node bench/page.ts $(BENCH)

.PHONY: man
man: build ## Generate the man pages in dist/man
	node scripts/man/write.ts

.PHONY: package
package: build ## Build the single executable out/cadre and smoke-test it
	node scripts/package.mjs
	sh scripts/smoke.sh out/cadre

.PHONY: dist
dist: man ## Build archives, packages, install.sh and SHA256SUMS in out/dist (TARGETS=linux-x64,... ARCHIVES=URL)
	node scripts/dist.mjs $(if $(TARGETS),--target $(TARGETS)) $(if $(ARCHIVES),--archives '$(ARCHIVES)')

.PHONY: dist-check
dist-check: deps ## Build the archives of this commit twice and compare the bytes (TARGETS=...)
	node scripts/dist-check.mjs $(if $(TARGETS),--target $(TARGETS))

.PHONY: install
install: man ## Install the program, completions, man pages and licences in PREFIX (default: ~/.local)
	node scripts/package.mjs
	node scripts/install.mjs install "$(PREFIX)"

.PHONY: uninstall
uninstall: ## Remove only the files that make install has installed in PREFIX
	node scripts/install.mjs uninstall "$(PREFIX)"

.PHONY: format
format: deps ## Format the sources
	oxfmt

.PHONY: clean
clean: ## Remove all build output
	rm -rf dist generated out .cache
