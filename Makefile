# Every target runs on the pinned Node in node_modules, whatever Node the machine has.
export PATH := $(CURDIR)/node_modules/.bin:$(PATH)
N ?= 200
SEED ?=

.DEFAULT_GOAL := help

.PHONY: help
help: ## Show the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-17s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# Not `npm ci`: optional packages of other platforms are missing from the lock file where it was made.
node_modules/.installed: package.json package-lock.json
	npm install --no-audit --no-fund
	git diff --exit-code package-lock.json
	@touch $@

.PHONY: install
install: node_modules/.installed ## Install the exact dependencies

.PHONY: build
build: install ## Build the bundle, dist/cadre.cjs
	node scripts/build.mjs

.PHONY: openapi
openapi: install ## Write src/api/openapi.yaml from the endpoint table
	node scripts/openapi/write.mjs

.PHONY: completions
completions: build ## Write completions/ from the command tree
	node scripts/completions.mjs

.PHONY: demo
demo: build ## Show the main job: a turn, a SIGKILL, everything still there
	node scripts/demo.ts

.PHONY: check
check: install ## Types, lint (with the import map), format, unused code
	tsc --noEmit
	oxlint --type-aware
	oxfmt --check
	knip

.PHONY: test
test: install ## All tests that need nothing but this machine
	vitest run

.PHONY: test-loaded
test-loaded: install ## The same beside 8 programs that want every core
	node scripts/test-loaded.mjs

.PHONY: crash
crash: build ## N SIGKILLs under load (N=200, SEED=...)
	N=$(N) SEED=$(SEED) node test/campaigns/crash/crash.main.ts

.PHONY: tail
tail: install ## Kill `events tail` KILLS times and its server SERVERS times under load
	TAIL_KILLS=$(or $(KILLS),100) SERVER_KILLS=$(or $(SERVERS),20) SEED=$(SEED) vitest run test/campaigns/tail

.PHONY: power
power: install ## The power-loss simulation at length
	POWER_IMAGES=2000 vitest run test/store/power

.PHONY: fanout
fanout: install ## 500 followers for 60 s, then 200 MB of events, with one follower that does not read
	FANOUT_FOLLOWERS=500 FANOUT_SECONDS=60 FANOUT_MEGABYTES=200 vitest run test/campaigns/fanout

.PHONY: leavers
leavers: install ## 10,000 clients that leave streams at random moments, then a stop in order (SEED=...)
	LEAVERS=10000 SEED=$(SEED) TEST_LIMIT_MS=3600000 vitest run test/campaigns/leavers

.PHONY: orphans
orphans: N = 1000
orphans: install ## Kill the server N times under process trees (N=1000, SEED=...)
	ORPHAN_KILLS=$(N) SEED=$(SEED) TEST_LIMIT_MS=21600000 vitest run test/campaigns/orphans

.PHONY: processes
processes: install ## 10,000 short commands, a command that prints 10 GB, 1,000 races of kill, time limit and exit
	COMMANDS=10000 PRINT_MB=10000 TEST_LIMIT_MS=7200000 vitest run test/campaigns/processes
	RACES=1000 SEED=$(SEED) TEST_LIMIT_MS=3600000 vitest run test/processes/kill

.PHONY: races
races: install ## 10,000 races of two deciders for an approval, and of two senders for a session (RACES=)
	RACES=$(or $(RACES),10000) TEST_LIMIT_MS=3600000 vitest run test/sessions/races

LENGTHS = test/access/attacker test/http/sessions test/processes/queue test/retention/cut test/sessions/pool test/teams/property

.PHONY: lengths
lengths: install ## Attacks, races and property tests of the suite with all their runs
	TEST_LENGTH=long TEST_LIMIT_MS=3600000 vitest run $(LENGTHS)

.PHONY: worktrees
worktrees: install ## Worktrees at length: 1,000 programs of eight sessions at once (PROGRAMS=, SEED=...), random steps, odd files
	WORKTREE_PROGRAMS=$(or $(PROGRAMS),1000) $(if $(SEED),WORKTREE_SEED=$(SEED)) TEST_LIMIT_MS=43200000 vitest run test/worktrees/concurrent
	WORKTREE_RUNS=100 $(if $(SEED),WORKTREE_SEED=$(SEED)) TEST_LIMIT_MS=43200000 vitest run test/worktrees/property
	WORKTREE_PLACES=all vitest run test/worktrees/hostile

.PHONY: hostile
hostile: install ## Hostile files, children, requests and connections against a server of another user (ROUNDS=20)
	HOSTILE_ROUNDS=$(or $(ROUNDS),20) TEST_LIMIT_MS=7200000 vitest run test/campaigns/hostile

.PHONY: million
million: install ## Starts and first pages with 1,000,000 events beside those with 10,000
	MILLION=1 TEST_LIMIT_MS=3600000 vitest run test/campaigns/million

.PHONY: test-agents
test-agents: build ## Drive real agents (installs them into a test-only directory), with loopback alone
	node test/agents/install.main.ts
	sh test/agents/loopback.sh vitest run --config test/agents/vitest.config.ts

.PHONY: test-agents-part
test-agents-part: export AGENTS = part
test-agents-part: build ## A part of that, in a minute: the main things with Claude Code and Codex
	node test/agents/install.main.ts
	sh test/agents/loopback.sh vitest run --config test/agents/vitest.config.ts

.PHONY: test-api
test-api: install ## Drive the server from openapi.yaml for 10 minutes, and with generated clients (SEED=...)
	node test/campaigns/api/install.main.ts
	SEED=$(SEED) TEST_LIMIT_MS=1500000 sh test/agents/loopback.sh vitest run --config test/campaigns/api/vitest.config.ts

.PHONY: test-api-part
test-api-part: export API = part
test-api-part: install ## A part of that, in a minute, the same each time
	node test/campaigns/api/install.main.ts
	sh test/agents/loopback.sh vitest run --config test/campaigns/api/vitest.config.ts

.PHONY: bench
bench: build ## Measure, each workload beside a bare baseline
	node bench/run.ts

.PHONY: package
package: build ## Make the single executable, out/cadre, and try it
	node scripts/package.mjs
	sh scripts/smoke.sh out/cadre

.PHONY: format
format: install ## Format the sources
	oxfmt

.PHONY: clean
clean: ## Remove what was built
	rm -rf dist out .cache
