// The import map as data: which top-level folder of src may import which, and which folders may import each library.
// The lint rule `cadre/import-map` (scripts/lint/plugin.js) reads it and prints the reason.
//
// A module is a path under src without its extension: a folder, or one file of it. `may` allows any import, `types` only
// `import type`, `lazily` only `import()` and `import type`. If `only` is there, it lists all packages and node modules
// that are allowed.

/** The top-level folders: what each may import of the others. Imports go down; those that go up are in `upward`. */
export const topFolders = {
  api: {
    may: [],
    only: ['zod'],
    because:
      'api describes the interface of server and client: it contains zod schemas and errors, but no behaviour',
  },
  core: {
    may: ['api'],
    because: 'core is the base of all parts of the server: it does not depend on the domain',
  },
  agents: {
    may: ['core/lib', 'core/children', 'api'],
    types: ['core/config/schema'],
    because:
      'an adapter translates between an agent and the provider interface: it makes no decisions and writes no rows',
  },
  server: {
    may: ['agents/provider', 'agents/conversations', 'agents/acp/catalogue', 'core', 'api'],
    types: ['agents/attached-turn', 'agents/read-position'],
    because:
      'the server uses agents through the provider interface; the callers of the server are above it',
  },
  client: {
    may: ['core/lib', 'api'],
    because:
      'commands, the screen and sidecars use the client to call servers: each of them loads its imports',
  },
  frontends: {
    may: [
      'client',
      'agents/acp/catalogue',
      'agents/demo/state-directory',
      'core/lib',
      'core/config',
      'core/children/identity',
      'core/children/notify',
      'core/children/descriptors',
      'api',
    ],
    lazily: [
      'agents/configured',
      'agents/demo',
      'core/children/detached',
      'core/children/sandbox',
      'core/children/shim',
      'core/store',
    ],
    because:
      'a front end is a client of the server; parts that run in the process of a command are loaded on demand',
  },
  fleet: {
    may: ['client', 'core/lib', 'api'],
    types: ['core/config/fleet', 'core/events', 'core/store'],
    because: 'fleet is a separate bundle: it gets everything else from the bundle that loads it',
  },
  bundles: {
    may: ['frontends/cli', 'core/children/shim/program', 'core/lib'],
    because: 'a bundle contains some of the commands, or the shim, and starts them',
  },
  main: {
    may: ['bundles', 'core/lib'],
    because: 'main chooses and loads a bundle; other imports would slow down every command',
  },
};

/** The imports that go up, each by `import()` or `import type` alone. */
export const upward = [
  {
    from: 'frontends/cli/commands/serve',
    to: ['server/runtime'],
    because: '`cadre serve` runs the server',
  },
  {
    from: 'frontends/cli/commands/config',
    to: ['server/hooks/problems'],
    because: '`cadre config check` reads the hooks as the server does',
  },
  {
    from: 'frontends/cli/doctor',
    to: ['server/runtime/try-agents', 'server/work/git'],
    because: '`cadre doctor` runs git and tries agents without a server',
  },
  {
    from: 'frontends/cli/db/check',
    to: [
      'server/work/processes/check-logs',
      'server/conversations/sessions/blobs',
      'server/conversations/search/check-index',
    ],
    because: '`cadre db check` reads the logs and the search index as the server does',
  },
  {
    from: 'frontends/sidecar',
    to: ['server/teams/mcp'],
    because: 'the sidecar and the claude adapter share one MCP server for the tools',
  },
  {
    from: 'frontends/cli',
    to: ['fleet'],
    because: 'few servers are in a fleet: only a command that uses a fleet loads its libraries',
  },
  {
    from: 'server/runtime',
    to: ['fleet'],
    because: 'only a server that joins a fleet loads it',
  },
  {
    from: 'frontends/cli/program',
    to: ['bundles/choose'],
    because: 'one table defines which bundle a command line needs',
    any: true,
  },
  {
    from: 'frontends/cli/complete',
    to: ['bundles/choose'],
    because: 'one table defines which bundle a command line needs',
    any: true,
  },
];

/**
 * Rules inside the top-level folders, the most specific of a file first. `may`, `types` and `lazily` are about folders of
 * the same top-level folder; a folder without a row may import all of it. `outside` replaces the row of the top-level folder.
 */
export const folders = {
  'core/lib': {
    may: [],
    outside: { may: [] },
    because: 'lib does not depend on the domain, so that every folder can use it',
  },
  'core/store': {
    may: ['core/lib'],
    outside: { may: ['api/errors'] },
    because:
      'store commits rows and does not depend on the domain: each domain folder has its own SQL',
  },
  'core/events': {
    may: ['core/store', 'core/lib'],
    because:
      'events is the ordered log that all domain folders append to: it depends on the schema of events, not on their writers',
  },
  'core/children': {
    may: ['core/store', 'core/lib'],
    because:
      'children is the only folder that starts child processes: other folders call it, and it calls none of them',
  },
  'core/children/shim/program': {
    may: [
      'core/children/shim',
      'core/children/identity',
      'core/children/keeper',
      'core/children/spawn-barrier',
      'core/lib/clock',
      'core/lib/ids',
    ],
    because: 'the shim is one more process beside the server: it is small, and starts fast',
  },
  'core/access': {
    may: ['core/store', 'core/lib'],
    because:
      'access identifies the bearer of a token and its rights; server/http decides which rights a request needs',
  },
  'core/config': {
    may: ['core/children/identity', 'core/lib'],
    outside: {
      may: [
        'api/errors',
        'api/tool-names',
        'api/provider-kinds',
        'api/after-limit',
        'api/host-pattern',
      ],
    },
    because:
      'the configuration is read first, so config cannot import modules that depend on it; the allowed imports do not',
  },

  'agents/configured': {
    may: ['agents'],
    because:
      'the list of adapters passes each adapter its section of the configuration; no adapter uses another section',
  },
  'agents/acp/catalogue-entry': {
    may: [],
    outside: { may: [] },
    because: 'a catalogue entry is data: the command line reads it without the adapter',
  },
  'agents/acp/catalogue': {
    may: ['agents/acp/catalogue-entry', 'agents/model-hosts'],
    outside: { may: [] },
    because: 'the agent catalogue is data: the command line reads it without the adapter',
  },
  'agents/demo/state-directory': {
    may: [],
    outside: { may: [] },
    because: 'a server starts with this directory, and loads no code of the demo agent',
  },
  'agents/demo': {
    may: [],
    outside: { may: ['core/lib'] },
    because:
      'the demo agent represents an external program: it uses ACP and does not depend on the domain',
  },
  'agents/acp': {
    may: ['agents/*'],
    because: 'an adapter uses its own protocol and the shared modules of adapters',
  },
  'agents/claude': {
    may: ['agents/*'],
    because: 'an adapter uses its own protocol and the shared modules of adapters',
  },
  'agents/codex': {
    may: ['agents/*'],
    because: 'an adapter uses its own protocol and the shared modules of adapters',
  },

  'server/conversations/queue': {
    may: ['server/conversations/sessions', 'server/conversations/inbox'],
    because: 'the queue passes entries to the inbox of a session, which decides when turns start',
  },
  'server/conversations/reviews': {
    may: ['server/conversations/sessions', 'server/conversations/queue'],
    because:
      'a review is sent as a turn or as a queue entry, and gets its diff from an object that runtime passes in',
  },
  'server/conversations/goals': {
    may: ['server/conversations/sessions', 'server/conversations/inbox'],
    because:
      'a goal puts the output of a failed check into the inbox of its session, and runs checks through an object that runtime passes in',
  },
  'server/conversations/watches': {
    may: [
      'server/conversations/goals',
      'server/conversations/sessions',
      'server/conversations/inbox',
    ],
    because:
      'a watch runs its command as the check of a goal runs, and puts changed output into the inbox of its session',
  },
  'server/conversations/forks': {
    may: [
      'server/conversations/sessions',
      'server/conversations/inbox',
      'server/conversations/imports',
      'server/conversations/handoff',
    ],
    because:
      'a fork copies turns of one session as past turns of another, and gives agents that cannot fork the digest of a handoff',
  },
  'server/conversations/handoff': {
    may: [
      'server/conversations/sessions',
      'server/conversations/inbox',
      'server/conversations/imports',
    ],
    because:
      'a handoff reads the rows and past turns of one session and opens another, and moves claims through an object that runtime passes in',
  },
  'server/conversations/imports': {
    may: ['server/conversations/sessions'],
    because:
      "an import opens a session, and reads the turns that ran in the agent's own program before each of its turns",
  },
  'server/conversations/search': {
    may: ['server/conversations/sessions'],
    because:
      'search copies the rows of sessions into its index and is loaded on first use: no domain folder calls it',
  },
  'server/conversations/usage': {
    may: [
      'server/conversations/sessions',
      'server/conversations/inbox',
      'server/conversations/approvals',
    ],
    because:
      'usage, limits and budgets evaluate the usage of turns: sessions receive them as interfaces and do not depend on them',
  },
  'server/conversations/inbox': {
    may: ['server/conversations/sessions'],
    because: 'the inbox holds the pending input of a session, independent of its sender',
  },
  'server/conversations/approvals/rules': {
    may: ['server/conversations/sessions', 'server/conversations/approvals'],
    because:
      'rules evaluate the requested action with the request and the agent files in the catalogue',
  },
  'server/conversations/approvals': {
    may: ['server/conversations/sessions'],
    because: 'an approval belongs to a turn of a session; it receives the rules as an interface',
  },
  'server/conversations/sessions': {
    may: ['server/conversations/approvals', 'server/conversations/inbox'],
    because: 'sessions is the lowest domain folder; it owns the approvals and the inbox',
  },
  'server/conversations': {
    may: [],
    outside: {
      may: [
        'agents/provider',
        'agents/conversations',
        'agents/acp/catalogue',
        'core/children/environment',
        'core/events',
        'core/store',
        'core/lib',
        'api',
      ],
      types: ['agents/attached-turn', 'agents/read-position', 'core/children/supervisor'],
    },
    because: 'conversations use agents through the provider interface and start no child processes',
  },

  'server/work/git': {
    may: [],
    because: 'one folder runs git on untrusted repositories, and it does not depend on the domain',
  },
  'server/work/processes': {
    may: ['server/conversations'],
    because:
      'a lower domain folder never imports a higher one: server/runtime connects the hooks of the lower folder to the higher service',
  },
  'server/work/merge': {
    may: ['server/work/worktrees', 'server/work/git', 'server/conversations'],
    because: 'merge integrates the work of a worktree: it does not depend on other domain folders',
  },
  'server/work/worktrees': {
    may: ['server/work/merge', 'server/work/git', 'server/work/processes', 'server/conversations'],
    because:
      'a lower domain folder never imports a higher one: server/runtime connects the hooks of the lower folder to the higher service',
  },
  'server/work/races': {
    may: ['server/work/worktrees', 'server/conversations'],
    because:
      'a race opens sessions in worktrees, and sends their turns and goals: no other domain folder calls it',
  },
  'server/work/snapshots': {
    may: ['server/work/worktrees', 'server/work/git', 'server/conversations'],
    because:
      'snapshots read the files of sessions through the git of worktrees, and sessions do not depend on snapshots',
  },

  'server/teams/mcp': {
    may: [],
    because:
      'the MCP server works with any backend that lists and calls tools: a session or a sidecar',
  },
  'server/teams/gateway': {
    may: ['server/conversations', 'server/work', 'server/teams/*'],
    lazily: ['server/teams/mcp'],
    because:
      'the gateway calls the service of the domain folder for a tool call, not http or a provider',
  },
  'server/teams': {
    may: ['server/conversations', 'server/work'],
    because:
      'teams use the services of the folders below; server/runtime connects them with the folders above',
  },

  'server/hooks': {
    may: [],
    because:
      'hooks deliver events of the log: the only domain object that they use is the approval of a link, through functions that runtime passes in',
  },

  'server/maintenance/recovery': {
    may: ['server/conversations', 'server/work', 'server/teams'],
    because: 'recovery repairs stored records before the server accepts requests',
  },
  'server/maintenance/retention': {
    may: ['server/conversations', 'server/work/processes'],
    because: 'retention deletes stored records of all domain folders; no domain folder calls it',
  },
  'server/maintenance/diagnostics': {
    may: ['server/maintenance/retention/budget'],
    because: 'diagnostics counts the actions of the domain folders and changes nothing',
  },

  'server/http': {
    may: ['server/conversations', 'server/work', 'server/teams', 'server/maintenance/diagnostics'],
    outside: {
      may: [
        'core/access',
        'core/store/idempotency-store',
        'core/events',
        'core/config',
        'core/lib',
        'api',
      ],
      types: ['core/store'],
    },
    because:
      'http turns a request into a service call: only services use rows, child processes and providers',
  },
  'server/runtime': {
    may: [
      'server/conversations',
      'server/work',
      'server/teams',
      'server/maintenance',
      'server/http',
    ],
    lazily: ['server/hooks'],
    outside: { may: ['agents', 'core', 'api'] },
    because: 'runtime is the composition root of the server; front ends reach the server by HTTP',
  },

  'client/public': {
    may: ['client'],
    outside: {
      may: [
        'core/config/paths',
        'core/config/registration',
        'core/config/token',
        'core/lib',
        'api/errors',
        'api/event-scopes',
      ],
    },
    because:
      'the library cadre/client is a separate file for other programs: it contains no schemas, and finds the local server as the command line does',
  },

  'frontends/terminal': {
    may: [],
    outside: { may: ['core/lib', 'api/errors'], types: ['api'] },
    because:
      'terminal turns values into lines of text for the command line and the screen: it reads and writes nothing',
  },
  'frontends/service': {
    may: [],
    outside: { may: ['core/children/notify', 'core/lib', 'api/errors'] },
    because:
      'service writes the files and messages for a service manager: it does not depend on the server',
  },
  'frontends/tui': {
    may: ['frontends/terminal'],
    outside: { may: ['client', 'core/lib', 'api'] },
    because: 'the screen shows only data that the client reads, so that it works with any server',
  },
  'frontends/editor': {
    may: [],
    outside: { may: ['client', 'core/lib', 'api'] },
    because: 'the ACP agent for editors is a client of the server: it uses the HTTP interface only',
  },
  'frontends/sidecar': {
    may: [],
    outside: { may: ['client', 'core/lib', 'api'] },
    because:
      'every provider session starts a sidecar, which must start fast: it does not load fastify, ink or sql.js',
  },
  'frontends/cli': {
    may: ['frontends/terminal', 'frontends/service'],
    lazily: ['frontends/editor', 'frontends/sidecar', 'frontends/tui'],
    because: 'a command loads the screen, the editor and the sidecar only when it runs them',
  },

  'bundles/choose': {
    may: [],
    outside: { may: [] },
    because: 'the bundle is chosen before anything is loaded',
  },
  'bundles/load': {
    may: [],
    types: ['bundles/choose'],
    outside: { may: [] },
    because: 'every command waits until the bundle loader is loaded',
  },
};

// The folders that may import each library: `*` in `in` means all. A trailing * in the name of a library matches the
// rest of the name. A package without a line here is refused.
export const libraries = {
  zod: { in: ['*'], because: 'every folder describes values by schemas' },
  '#generated': {
    in: ['client/public'],
    because: 'the types of the client library are generated from api for the library only',
  },
  'sql.js': {
    in: ['core/store'],
    because: 'only store uses SQLite and decides when data is on disk',
  },
  fastify: {
    in: ['server/http'],
    because: 'a route is an endpoint of api with a handler, and only http mounts routes',
  },
  '@fastify/*': {
    in: ['server/http'],
    because: 'a route is an endpoint of api with a handler, and only http mounts routes',
  },
  commander: {
    in: ['frontends/cli'],
    because: 'the command tree is built in one folder, and completions are generated from it',
  },
  croner: {
    in: ['core/lib/cron'],
    because: 'only core/lib/cron parses cron expressions, so that server and command line agree',
  },
  'fastest-levenshtein': {
    in: ['core/lib'],
    because: 'lib/nearest is the only source of "did you mean"',
  },
  ink: {
    in: ['frontends/tui'],
    because: 'only tui renders; its models (tui/panes) are tested without ink',
  },
  react: {
    in: ['frontends/tui'],
    because: 'only tui renders; its models (tui/panes) are tested without ink',
  },
  'string-width': {
    in: ['frontends/terminal/width'],
    because: 'only terminal/width counts columns, so that all lines use the same widths',
  },
  'wrap-ansi': {
    in: ['frontends/terminal/width'],
    because: 'only terminal/width counts columns, so that all lines use the same widths',
  },
  'jq-wasm': {
    in: ['frontends/cli/jq'],
    because: 'only --jq filters JSON, and its bundle is loaded for that alone',
  },
  'jsonc-parser': {
    in: ['frontends/cli/mcp/jsonc'],
    because: 'only mcp/jsonc edits files with comments: the configuration of agents',
  },
  'cli-truncate': {
    in: ['frontends/terminal/width'],
    because: 'only terminal/width counts columns, so that all lines use the same widths',
  },
  'slice-ansi': {
    in: ['frontends/terminal/width'],
    because: 'only terminal/width counts columns, so that all lines use the same widths',
  },
  marked: {
    in: ['frontends/terminal', 'frontends/cli/export'],
    because:
      'only terminal parses Markdown; export writes its tokens as HTML and refuses HTML in the text',
  },
  'sugar-high': {
    in: ['frontends/terminal/highlight'],
    because: 'only terminal/highlight colours code; it uses the tokens and generates no HTML',
  },
  '@nats-io/*': {
    in: ['fleet'],
    because: 'only members and clients of a fleet load the NATS client',
  },
  execa: {
    in: ['frontends/cli/run-program', 'frontends/cli/session/pager'],
    because:
      'only commands run programs in the foreground; a child process of the server needs the spawn barrier, keeper and ledger of children',
  },
  'simple-git': {
    in: ['server/work/git'],
    because: 'only server/work/git runs git',
  },
  '@agentclientprotocol/sdk': {
    in: ['agents/demo', 'frontends/editor'],
    because:
      'ACP is the protocol of one provider and of editors: other folders must not use its types',
  },
  '@modelcontextprotocol/sdk': {
    in: ['server/teams/mcp'],
    because: 'MCP is one way to call the tools: the tools do not depend on it',
  },
  diff: {
    in: ['agents/details'],
    because: 'all adapters show file changes in one format',
  },
  pino: {
    in: ['core/lib/log'],
    because: 'all logging goes through lib/log, which redacts secrets and sets the format',
  },
  'smol-toml': { in: ['core/config'], because: 'only the config file is TOML' },
  'eventsource-parser': {
    in: ['client'],
    because: 'only the client reads event streams and resumes them',
  },

  'node:child_process': {
    in: ['core/children', 'core/store/lock'],
    because:
      'every child process needs the spawn barrier, keeper, ledger and marker of children, so that it is stopped after a crash (exception: flock)',
  },
  'node:http': {
    in: [
      'client',
      'server/http',
      'core/access/admit',
      'core/children/sandbox/network/proxy',
      'server/hooks/send-post',
    ],
    because: 'only the client, the server, URL hooks and the proxy of sandboxes use HTTP',
  },
  'node:https': {
    in: ['client', 'server/http', 'server/hooks/send-post'],
    because: 'only the client, the server and URL hooks use HTTP',
  },
  'node:http2': {
    in: ['client', 'server/http'],
    because: 'only the client and the server use HTTP',
  },
  'node:timers': {
    in: ['core/lib', 'agents/demo'],
    because: 'take a clock as a parameter instead',
  },
  'node:timers/promises': {
    in: ['core/lib', 'agents/demo'],
    because: 'take a clock as a parameter instead',
  },
};
