// The import map as data: which house of src may import which, and which folders may import each library.
// The lint rule `cadre/import-map` (scripts/lint/plugin.js) reads it and prints the reason.
//
// A module is a path under src without its extension: a folder, or one file of it. `may` allows any import, `types` only
// `import type`, `lazily` only `import()` and `import type`. If `only` is there, it lists all packages and node modules
// that are allowed.

/** The houses: what each may import of the others. Imports go down; those that go up are in `upward`. */
export const houses = {
  api: {
    may: [],
    only: ['zod'],
    because:
      'api describes the interface for server and client alike: it has zod schemas and errors, and no behaviour',
  },
  core: {
    may: ['api'],
    because: 'core is what every part of the server stands on: it knows no noun of the product',
  },
  agents: {
    may: ['core/lib', 'core/children', 'api'],
    types: ['core/config/schema'],
    because:
      'an adapter translates an agent to the interface of a provider and back: it decides nothing and writes no row',
  },
  server: {
    may: ['agents/provider', 'agents/acp/catalogue', 'core', 'api'],
    because:
      'the server knows agents by the interface of a provider; what asks the server stands above it',
  },
  client: {
    may: ['core/lib', 'api'],
    because:
      'the client is what commands, the screen and sidecars ask servers with: each of them loads its imports',
  },
  frontends: {
    may: [
      'client',
      'agents/acp/catalogue',
      'core/lib',
      'core/config',
      'core/children/identity',
      'core/children/notify',
      'core/children/open-again',
      'api',
    ],
    lazily: ['agents/configured', 'agents/demo', 'core/children/detached', 'core/store'],
    because:
      'a front end is a client of the server; parts that run in the process of a command are loaded on demand',
  },
  fleet: {
    may: ['client', 'core/lib', 'api'],
    types: ['core/config/fleet', 'core/events', 'core/store'],
    because:
      'a fleet carries requests and events of servers that need none: it is a bundle of its own, and takes everything else from the one that loads it',
  },
  bundles: {
    may: ['frontends/cli', 'core/lib'],
    because: 'a bundle holds some of the commands, and starts them',
  },
  main: {
    may: ['bundles', 'core/lib'],
    because: 'main chooses a bundle and loads it; every command would wait for other imports',
  },
};

/** The imports that go up, each by `import()` or `import type` alone. */
export const upward = [
  {
    from: 'frontends/cli/commands/serve',
    to: ['server/runtime'],
    because: '`cadre serve` is the server',
  },
  {
    from: 'frontends/cli/commands/config',
    to: ['server/hooks/problems'],
    because: '`cadre config check` reads the hooks as the server would',
  },
  {
    from: 'frontends/cli/doctor',
    to: ['server/runtime/try-agents', 'server/work/git'],
    because: '`cadre doctor` asks git, and tries agents without a server',
  },
  {
    from: 'frontends/sidecar',
    to: ['server/teams/mcp'],
    because: 'the sidecar and the channel of claude serve the tools by one MCP server',
  },
  {
    from: 'frontends/cli',
    to: ['fleet'],
    because: 'few servers are in a fleet: who asks one loads its libraries',
  },
  {
    from: 'server/runtime',
    to: ['fleet'],
    because: 'a server that joins a fleet loads it',
  },
  {
    from: 'frontends/cli/program',
    to: ['bundles/choose'],
    because: 'which bundle a command line needs is said once, as data',
    any: true,
  },
  {
    from: 'frontends/cli/complete',
    to: ['bundles/choose'],
    because: 'which bundle a command line needs is said once, as data',
    any: true,
  },
];

/**
 * Rules inside the houses, the most specific of a file first. `may`, `types` and `lazily` are about rooms of the same
 * house; a room without a row may import all of its house. `beyond` replaces the line of the house.
 */
export const rooms = {
  'core/lib': {
    may: [],
    beyond: { may: [] },
    because: 'lib knows no noun of the product, so that every folder can use it',
  },
  'core/store': {
    may: ['core/lib'],
    beyond: { may: ['api/errors'] },
    because: 'store commits rows and knows no noun: each noun has its own SQL',
  },
  'core/events': {
    may: ['core/store', 'core/lib'],
    because:
      'events is the one ordered log that all nouns append to: it knows the schema of an event, not its writers',
  },
  'core/children': {
    may: ['core/store', 'core/lib'],
    because:
      'children is the only folder that starts child processes: others call it, it calls none of them',
  },
  'core/access': {
    may: ['core/store', 'core/lib'],
    because:
      'access identifies the bearer of a token and its rights; server/http decides which rights a request needs',
  },
  'core/config': {
    may: ['core/children/identity', 'core/lib'],
    beyond: { may: ['api/errors', 'api/tool-names', 'api/provider-kinds', 'api/after-limit'] },
    because:
      'config is read before anything is built, so it cannot import what is built from it; the identity of a process, the names of tools and providers and the choices after a limit do not depend on it',
  },

  'agents/configured': {
    may: ['agents'],
    because:
      'the list of adapters gives each its section of the configuration; no adapter knows another section',
  },
  'agents/acp/catalogue-entry': {
    may: [],
    beyond: { may: [] },
    because: 'an entry of the catalogue is data: the command line reads it without the adapter',
  },
  'agents/acp/catalogue-adapters': {
    may: ['agents/acp/catalogue-entry'],
    beyond: { may: [] },
    because: 'an entry of the catalogue is data: the command line reads it without the adapter',
  },
  'agents/acp/catalogue': {
    may: ['agents/acp/catalogue-adapters', 'agents/acp/catalogue-entry'],
    beyond: { may: [] },
    because: 'the catalogue of agents is data: the command line reads it without the adapter',
  },
  'agents/demo': {
    may: [],
    beyond: { may: ['core/lib'] },
    because: 'the demo agent stands for a foreign program: it knows ACP and no noun of the product',
  },
  'agents/acp': {
    may: ['agents/*'],
    because: 'an adapter knows its own protocol, and what all adapters share',
  },
  'agents/claude': {
    may: ['agents/*'],
    because: 'an adapter knows its own protocol, and what all adapters share',
  },
  'agents/codex': {
    may: ['agents/*'],
    because: 'an adapter knows its own protocol, and what all adapters share',
  },

  'server/conversations/queue': {
    may: ['server/conversations/sessions', 'server/conversations/inbox'],
    because:
      'the queue gives entries to the inbox of a session, which decides when they become turns: it starts none itself',
  },
  'server/conversations/reviews': {
    may: ['server/conversations/sessions', 'server/conversations/queue'],
    because:
      'a review becomes a turn of its session, or an entry of the queue: it is sent as both are, and gets its diff by a hook',
  },
  'server/conversations/search': {
    may: ['server/conversations/sessions'],
    because:
      'search reads the rows of sessions into an index of its own, and is loaded with the first search: no noun calls it',
  },
  'server/conversations/usage': {
    may: [
      'server/conversations/sessions',
      'server/conversations/inbox',
      'server/conversations/approvals',
    ],
    because:
      'usage, limits and budgets judge what turns have used: sessions call them by a hook, and know none of them',
  },
  'server/conversations/inbox': {
    may: ['server/conversations/sessions'],
    because: 'the inbox holds what waits to become a turn of a session, whoever sent it',
  },
  'server/conversations/approvals/rules': {
    may: ['server/conversations/sessions', 'server/conversations/approvals'],
    because:
      'rules judge what an agent wishes to do, by what the request shows and the catalogue knows of the files of agents',
  },
  'server/conversations/approvals': {
    may: ['server/conversations/sessions'],
    because: 'an approval belongs to a turn of a session; rules are called by a hook',
  },
  'server/conversations/sessions': {
    may: ['server/conversations/approvals', 'server/conversations/inbox'],
    because: 'sessions is the lowest noun, with the approvals and the inbox that it owns',
  },
  'server/conversations': {
    may: [],
    beyond: {
      may: [
        'agents/provider',
        'agents/acp/catalogue',
        'core/children/environment',
        'core/events',
        'core/store',
        'core/lib',
        'api',
      ],
      types: ['core/children/supervisor'],
    },
    because:
      'conversations know agents only by the interface of a provider, and start no child process themselves',
  },

  'server/work/git': {
    may: [],
    because: 'git is asked about foreign repositories in one place, which knows no noun of ours',
  },
  'server/work/processes': {
    may: ['server/conversations'],
    because:
      'a lower noun never imports a higher one: server/runtime connects the hooks of the lower noun to the higher service',
  },
  'server/work/merge': {
    may: ['server/work/worktrees', 'server/work/git', 'server/conversations'],
    because: 'merge brings the work of a worktree back: it knows no other noun',
  },
  'server/work/worktrees': {
    may: ['server/work/merge', 'server/work/git', 'server/work/processes', 'server/conversations'],
    because:
      'a lower noun never imports a higher one: server/runtime connects the hooks of the lower noun to the higher service',
  },
  'server/work/snapshots': {
    may: ['server/work/worktrees', 'server/work/git', 'server/conversations'],
    because:
      'snapshots read the files of sessions through the git of worktrees, and sessions know none of them',
  },

  'server/teams/mcp': {
    may: [],
    because: 'the MCP server serves whoever can list and call tools: a session, or a sidecar',
  },
  'server/teams/gateway': {
    may: ['server/conversations', 'server/work', 'server/teams/*'],
    lazily: ['server/teams/mcp'],
    because:
      'a tool call is a use case of a noun: the gateway calls the service of that noun, not http or a provider',
  },
  'server/teams': {
    may: ['server/conversations', 'server/work'],
    because:
      'teams use the services of the nouns below them; server/runtime connects them with those above',
  },

  'server/hooks': {
    may: [],
    because:
      'hooks deliver what the log has: they know no noun but the approval that a link answers, by functions that runtime hands in',
  },

  'server/upkeep/recovery': {
    may: ['server/conversations', 'server/work', 'server/teams'],
    because: 'recovery repairs stored records before the server accepts requests',
  },
  'server/upkeep/retention': {
    may: ['server/conversations', 'server/work/processes'],
    because: 'retention deletes stored records of every noun; no noun calls it',
  },
  'server/upkeep/diagnostics': {
    may: ['server/upkeep/retention/budget'],
    because: 'diagnostics counts the actions of the nouns, and changes nothing',
  },

  'server/http': {
    may: ['server/conversations', 'server/work', 'server/teams', 'server/upkeep/diagnostics'],
    beyond: {
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
      'http turns a request into a call of a service: only services use rows, child processes and providers',
  },
  'server/runtime': {
    may: ['server/conversations', 'server/work', 'server/teams', 'server/upkeep', 'server/http'],
    lazily: ['server/hooks'],
    beyond: { may: ['agents', 'core', 'api'] },
    because: 'runtime is the composition root of the server; front ends reach the server by HTTP',
  },

  'client/public': {
    may: ['client'],
    beyond: {
      may: [
        'core/config/paths',
        'core/config/registration',
        'core/config/token',
        'core/lib',
        'api/errors',
      ],
    },
    because:
      'the library cadre/client is a file of its own that others import: it takes no schema, and finds the server of this machine as the command line does',
  },

  'frontends/terminal': {
    may: [],
    beyond: { may: ['core/lib', 'api/errors'], types: ['api'] },
    because:
      'terminal turns values into lines of text, for the command line and the screen alike: it reads nothing and writes nothing',
  },
  'frontends/service': {
    may: [],
    beyond: { may: ['core/children/notify', 'core/lib', 'api/errors'] },
    because:
      'service is how a service manager starts the server, as text, and what it is told: it knows no noun of the server',
  },
  'frontends/tui': {
    may: ['frontends/terminal'],
    beyond: { may: ['client', 'core/lib', 'api'] },
    because: 'the screen shows only data that the client reads, so that it works with any server',
  },
  'frontends/editor': {
    may: [],
    beyond: { may: ['client', 'core/lib', 'api'] },
    because:
      'cadre as an ACP agent is one more client of the server: an editor gets what HTTP gives, and nothing else',
  },
  'frontends/sidecar': {
    may: [],
    beyond: { may: ['client', 'core/lib', 'api'] },
    because:
      'every provider session starts a sidecar, which has to start fast: it loads neither fastify, ink nor sql.js',
  },
  'frontends/cli': {
    may: ['frontends/terminal', 'frontends/service'],
    lazily: ['frontends/editor', 'frontends/sidecar', 'frontends/tui'],
    because: 'a command loads the screen, the editor and the sidecar only where it runs them',
  },

  'bundles/choose': {
    may: [],
    beyond: { may: [] },
    because: 'which bundle a command line needs is decided before anything is loaded',
  },
  'bundles/load': {
    may: [],
    types: ['bundles/choose'],
    beyond: { may: [] },
    because: 'what loads a bundle is waited for by every command',
  },
};

// The folders that may import each library: `*` in `in` means all. A trailing * in the name of a library matches the
// rest of the name. A package without a line here is refused.
export const doors = {
  zod: { in: ['*'], because: 'every folder describes values by schemas' },
  '#generated': {
    in: ['client/public'],
    because: 'the types of the client library are made from the tables of api, for nobody else',
  },
  'sql.js': {
    in: ['core/store'],
    because: 'only store knows which SQLite it uses and when data is on disk',
  },
  fastify: {
    in: ['server/http'],
    because: 'a route is an endpoint of api and a handler, which only http mounts',
  },
  '@fastify/*': {
    in: ['server/http'],
    because: 'a route is an endpoint of api and a handler, which only http mounts',
  },
  commander: {
    in: ['frontends/cli'],
    because: 'the command tree is built in one folder, and completions are generated from it',
  },
  croner: {
    in: ['core/lib/cron'],
    because:
      'only core/lib/cron reads cron expressions, so that server and command line understand them alike',
  },
  'fastest-levenshtein': {
    in: ['core/lib'],
    because: 'lib/nearest is the only source of "did you mean"',
  },
  ink: {
    in: ['frontends/tui'],
    because: 'only tui draws; its state (tui/state.ts) is tested without ink',
  },
  react: {
    in: ['frontends/tui'],
    because: 'only tui draws; its state (tui/state.ts) is tested without ink',
  },
  'string-width': {
    in: ['frontends/terminal/width'],
    because: 'only terminal/width counts columns, so that all lines are measured alike',
  },
  'wrap-ansi': {
    in: ['frontends/terminal/width'],
    because: 'only terminal/width counts columns, so that all lines are measured alike',
  },
  'cli-truncate': {
    in: ['frontends/terminal/width'],
    because: 'only terminal/width counts columns, so that all lines are measured alike',
  },
  'slice-ansi': {
    in: ['frontends/terminal/width'],
    because: 'only terminal/width counts columns, so that all lines are measured alike',
  },
  marked: {
    in: ['frontends/terminal'],
    because: 'only terminal reads Markdown; it takes the tokens, and no HTML is made',
  },
  'sugar-high': {
    in: ['frontends/terminal/highlight'],
    because: 'only terminal/highlight colours code; it takes the tokens, and no HTML is made',
  },
  '@nats-io/*': {
    in: ['fleet'],
    because: 'only a member of a fleet, and who asks one, loads the client of NATS',
  },
  execa: {
    in: ['frontends/cli/run-program', 'frontends/cli/talk/pager'],
    because:
      'a command runs programs for its user and waits for them; a child of the server needs the gate, keeper and ledger of children',
  },
  'simple-git': {
    in: ['server/work/git'],
    because: 'only server/work/git runs git',
  },
  '@agentclientprotocol/sdk': {
    in: ['agents/acp', 'agents/demo', 'frontends/editor'],
    because:
      'ACP is the protocol of one provider, and of editors that use cadre as an agent: its types must not spread to other folders',
  },
  '@modelcontextprotocol/sdk': {
    in: ['server/teams/mcp'],
    because: 'MCP is one way to call the tools: their implementation does not depend on it',
  },
  diff: {
    in: ['agents/details'],
    because: 'all adapters show the change of a file in one form',
  },
  pino: {
    in: ['core/lib/log'],
    because: 'all logging goes through lib/log, which redacts secrets and sets the format',
  },
  'smol-toml': { in: ['core/config'], because: 'only the config file is TOML' },
  'eventsource-parser': {
    in: ['client'],
    because: 'only the client reads event streams, and resumes them by id',
  },

  'node:child_process': {
    in: ['core/children', 'core/store/lock'],
    because:
      'every child process needs the gate, keeper, ledger and marker of children, or nothing would end it after a crash (flock is the exception)',
  },
  'node:http': {
    in: ['client', 'server/http', 'core/access/admit', 'server/hooks/send-post'],
    because: 'only the client, the server and the hooks with a URL speak HTTP',
  },
  'node:https': {
    in: ['client', 'server/http', 'server/hooks/send-post'],
    because: 'only the client, the server and the hooks with a URL speak HTTP',
  },
  'node:http2': {
    in: ['client', 'server/http'],
    because: 'only the client and the server speak HTTP',
  },
  'node:timers': { in: ['core/lib', 'agents/demo'], because: 'time is handed in: take a clock' },
  'node:timers/promises': {
    in: ['core/lib', 'agents/demo'],
    because: 'time is handed in: take a clock',
  },
};
