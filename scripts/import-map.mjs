// The import map as data: which folder of src may import which, and which folders may import each library.
// The lint rule `cadre/import-map` (scripts/lint/plugin.js) reads it and prints the reason.
//
// A module is a path under src without its extension: a folder, or one file of it. A folder may always import itself.
// `may` allows any import, `types` only `import type`, `lazily` only `import()` and `import type`. If `only` is there,
// it lists all packages and node modules that are allowed.
// A file of a folder stands before its folder.

const base = ['lib', 'errors'];
const records = ['events', 'store', 'api', ...base];
const features = [
  'sessions',
  'rules',
  'limits',
  'queue',
  'reviews',
  'processes',
  'worktrees',
  'snapshots',
  'teams',
  'gateway',
  'usage',
  'budgets',
  'search',
];

export const places = {
  lib: {
    may: [],
    because: 'lib knows no noun of the product, so that every folder can use it',
  },
  errors: {
    may: [],
    because: 'every layer throws an AppError, so errors depends on nothing',
  },
  api: {
    may: ['errors'],
    only: ['zod'],
    because:
      'api describes the interface for server and client alike: it has zod schemas and errors, and no behaviour',
  },
  config: {
    may: ['children/identity', 'api/tool-names', 'api/provider-kinds', 'api/after-limit', ...base],
    because:
      'config is read before anything is built, so it cannot import what is built from it; the identity of a process, the names of tools and providers and the choices after a limit do not depend on it',
  },
  store: {
    may: base,
    because: 'store commits rows and knows no noun: each noun has its own SQL',
  },
  events: {
    may: ['store', 'api', ...base],
    because:
      'events is the one ordered log that all nouns append to: it knows the schema of an event, not its writers',
  },
  children: {
    may: ['store', 'events', ...base],
    because:
      'children is the only folder that starts child processes: others call it, it calls none of them',
  },
  'providers/configured': {
    may: ['providers', ...base],
    types: ['api', 'config/schema', 'children/supervisor'],
    because:
      'the list of adapters gives each its section of the configuration; no adapter knows another section',
  },
  'providers/acp/catalogue-entry': {
    may: [],
    because: 'an entry of the catalogue is data: the command line reads it without the adapter',
  },
  'providers/acp/catalogue-adapters': {
    may: ['providers/acp/catalogue-entry'],
    because: 'an entry of the catalogue is data: the command line reads it without the adapter',
  },
  'providers/acp/catalogue': {
    may: ['providers/acp/catalogue-adapters', 'providers/acp/catalogue-entry'],
    because: 'the catalogue of agents is data: the command line reads it without the adapter',
  },
  service: {
    may: ['children/notify', ...base],
    because:
      'service is how a service manager starts the server, as text, and what it is told: it knows no noun of the server',
  },
  providers: {
    may: [
      'providers/acp/catalogue',
      'providers/acp/catalogue-entry',
      'children',
      'api/permission-modes',
      'api/provider-kinds',
      'api/tool-names',
      'api/tools',
      ...base,
    ],
    types: ['api'],
    because:
      'a provider translates an agent to our interface and back: it decides nothing and writes no row; what is known of it before it runs stands in api/provider-kinds and api/permission-modes, and the tools that are our own in api/tool-names and api/tools',
  },
  access: {
    may: ['store', 'api', ...base],
    because:
      'access identifies the bearer of a token and its rights; http decides which rights a request needs',
  },
  sessions: {
    may: ['providers/provider', 'children/environment', ...records],
    types: ['children/supervisor'],
    because:
      'sessions is the lowest noun: it knows providers only by their interface, and starts no child process itself',
  },
  rules: {
    may: ['sessions', 'providers/acp/catalogue', ...records],
    types: ['providers/provider'],
    because:
      'rules judge what an agent wishes to do, by what the request shows and the catalogue knows of the files of agents: sessions call them by a hook, and know none of them',
  },
  usage: {
    may: ['sessions', ...records],
    because: 'usage sums what sessions have stored of each turn, and changes nothing',
  },
  budgets: {
    may: ['sessions', ...records],
    because:
      'budgets judge what turns have used: sessions call them by a hook when a turn has ended, and know none of them',
  },
  limits: {
    may: ['sessions', ...records],
    types: ['providers/provider'],
    because:
      'a limit holds what waits for sessions: it reads of providers only what an agent reports, and begins no turn itself',
  },
  queue: {
    may: ['sessions', ...records],
    because:
      'the queue gives entries to the inbox of a session, which decides when they become turns: it starts none itself',
  },
  hooks: {
    may: ['children/environment', 'config/hooks-section', ...records],
    types: ['children/supervisor', 'config/schema'],
    because:
      'hooks deliver what the log has: they know no noun but the approval that a link answers, by functions that runtime hands in',
  },
  reviews: {
    may: ['sessions', 'queue', ...records],
    because:
      'a review becomes a turn of its session, or an entry of the queue: it is sent as both are, and gets its diff by a hook',
  },
  processes: {
    may: ['sessions', 'children', ...records],
    because:
      'a lower noun never imports a higher one: runtime/ connects the hooks of the lower noun to the higher service',
  },
  worktrees: {
    may: ['sessions', 'processes', 'children', ...records],
    because:
      'a lower noun never imports a higher one: runtime/ connects the hooks of the lower noun to the higher service',
  },
  snapshots: {
    may: ['sessions', 'worktrees', ...records],
    because:
      'snapshots read the files of sessions through the git of worktrees, and sessions know none of them',
  },
  teams: {
    may: ['sessions', 'processes', 'worktrees', ...records],
    because:
      'teams use the services of the nouns below them; runtime/ connects them with those above',
  },
  gateway: {
    may: ['sessions', 'processes', 'worktrees', 'teams', ...records],
    types: ['providers/provider', 'access/session-tokens'],
    lazily: ['mcp'],
    because:
      'a tool call is a use case of a noun: the gateway calls the service of that noun, not http or a provider',
  },
  search: {
    may: ['sessions', ...records],
    because:
      'search reads the rows of sessions into an index of its own, and is loaded with the first search: no noun calls it',
  },
  recovery: {
    may: [...features, 'children', 'providers/provider', ...records],
    because: 'recovery repairs stored records before the server accepts requests',
  },
  retention: {
    may: ['sessions', 'processes', ...records],
    because: 'retention deletes stored records of every noun; no noun calls it',
  },
  diagnostics: {
    may: ['retention/budget', ...records],
    because: 'diagnostics counts the actions of the nouns, and changes nothing',
  },
  http: {
    may: [
      ...features,
      'access',
      'diagnostics',
      'store/kept-answers',
      'events',
      'api',
      'config',
      ...base,
    ],
    because:
      'http turns a request into a call of a service: only services use rows, child processes and providers',
  },
  'client/public': {
    may: ['client', 'config/paths', 'config/registration', 'config/token', ...base],
    because:
      'the library cadre/client is a file of its own that others import: it takes no schema, and finds the server of this machine as the command line does',
  },
  client: {
    may: ['api', ...base],
    because:
      'the client is what commands, the screen and sidecars ask servers with: each of them loads its imports',
  },
  terminal: {
    may: base,
    types: ['api'],
    because:
      'terminal turns values into lines of text, for the command line and the screen alike: it reads nothing and writes nothing',
  },
  cli: {
    may: [
      'bundles/choose',
      'client',
      'terminal',
      'api',
      'config',
      'providers/acp/catalogue',
      'children/identity',
      'children/open-again',
      'service',
      ...base,
    ],
    lazily: [
      'runtime',
      'hooks/problems',
      'providers/configured',
      'worktrees/git',
      'store',
      'mcp',
      'acp',
      'demo-agent',
      'children/detached',
      'tui',
      'fleet',
    ],
    because:
      'a command is a client of the server; parts that run in the process of a command are loaded on demand; what the system says of a process is asked in children alone',
  },
  tui: {
    may: ['client', 'terminal', 'api', ...base],
    because: 'the screen shows only data that the client reads, so that it works with any server',
  },
  mcp: {
    may: ['client', 'api', ...base],
    because:
      'every provider session starts a sidecar, which has to start fast: it loads neither fastify, ink nor sql.js',
  },
  acp: {
    may: ['client', 'api', ...base],
    because:
      'cadre as an ACP agent is one more client of the server: an editor gets what HTTP gives, and nothing else',
  },
  'demo-agent': {
    may: ['lib'],
    because: 'the demo agent stands for a foreign program: it knows ACP and no noun of the product',
  },
  fleet: {
    may: ['client', 'api', ...base],
    types: ['config/fleet', 'events', 'store'],
    because:
      'a fleet carries requests and events of servers that need none: it is a bundle of its own, and takes everything else from the one that loads it',
  },
  runtime: {
    lazily: ['fleet', 'hooks'],
    may: [
      'config',
      'children',
      'providers',
      'recovery',
      'http',
      'mcp',
      'demo-agent',
      'access',
      'diagnostics',
      'retention',
      ...features,
      ...records,
    ],
    because:
      'runtime is the composition root of the server; cli, tui and client reach the server by HTTP',
  },
  'bundles/choose': {
    may: [],
    because: 'which bundle a command line needs is decided before anything is loaded',
  },
  'bundles/load': {
    may: [],
    types: ['bundles/choose'],
    because: 'what loads a bundle is waited for by every command',
  },
  bundles: {
    may: ['cli', ...base],
    because: 'a bundle holds some of the commands, and starts them',
  },
  main: {
    may: ['bundles', ...base],
    because: 'main chooses a bundle and loads it; every command would wait for other imports',
  },
};

// The folders that may import each library: `*` in `in` means all. A trailing * in the name of a library matches the
// rest of the name. A package without a line here is refused.
export const doors = {
  zod: { in: ['*'], because: 'every folder describes values by schemas' },
  'sql.js': {
    in: ['store'],
    because: 'only store knows which SQLite it uses and when data is on disk',
  },
  fastify: {
    in: ['http'],
    because: 'a route is an endpoint of api and a handler, which only http mounts',
  },
  '@fastify/*': {
    in: ['http'],
    because: 'a route is an endpoint of api and a handler, which only http mounts',
  },
  commander: {
    in: ['cli'],
    because: 'the command tree is built in one folder, and completions are generated from it',
  },
  croner: {
    in: ['lib/cron'],
    because:
      'only lib/cron reads cron expressions, so that server and command line understand them alike',
  },
  'fastest-levenshtein': {
    in: ['lib'],
    because: 'lib/nearest is the only source of "did you mean"',
  },
  ink: {
    in: ['tui'],
    because: 'only tui draws; its state (tui/state.ts) is tested without ink',
  },
  react: {
    in: ['tui'],
    because: 'only tui draws; its state (tui/state.ts) is tested without ink',
  },
  'string-width': {
    in: ['terminal/width'],
    because: 'only terminal/width counts columns, so that all lines are measured alike',
  },
  'wrap-ansi': {
    in: ['terminal/width'],
    because: 'only terminal/width counts columns, so that all lines are measured alike',
  },
  'cli-truncate': {
    in: ['terminal/width'],
    because: 'only terminal/width counts columns, so that all lines are measured alike',
  },
  'slice-ansi': {
    in: ['terminal/width'],
    because: 'only terminal/width counts columns, so that all lines are measured alike',
  },
  marked: {
    in: ['terminal'],
    because: 'only terminal reads Markdown; it takes the tokens, and no HTML is made',
  },
  'sugar-high': {
    in: ['terminal/highlight'],
    because: 'only terminal/highlight colours code; it takes the tokens, and no HTML is made',
  },
  '@nats-io/*': {
    in: ['fleet'],
    because: 'only a member of a fleet, and who asks one, loads the client of NATS',
  },
  execa: {
    in: ['cli/run-program', 'cli/talk/pager'],
    because:
      'a command runs programs for its user and waits for them; a child of the server needs the gate, keeper and ledger of children',
  },
  'simple-git': {
    in: ['worktrees'],
    because: 'only worktrees runs git',
  },
  '@agentclientprotocol/sdk': {
    in: ['providers/acp', 'acp', 'demo-agent'],
    because:
      'ACP is the protocol of one provider, and of editors that use cadre as an agent: its types must not spread to other folders',
  },
  '@modelcontextprotocol/sdk': {
    in: ['mcp'],
    because: 'MCP is one way to call the tools: their implementation does not depend on it',
  },
  diff: {
    in: ['providers/details'],
    because: 'all adapters show the change of a file in one form',
  },
  pino: {
    in: ['lib/log'],
    because: 'all logging goes through lib/log, which redacts secrets and sets the format',
  },
  'smol-toml': { in: ['config'], because: 'only the config file is TOML' },
  'eventsource-parser': {
    in: ['client'],
    because: 'only the client reads event streams, and resumes them by id',
  },

  'node:child_process': {
    in: ['children', 'store/lock'],
    because:
      'every child process needs the gate, keeper, ledger and marker of children, or nothing would end it after a crash (flock is the exception)',
  },
  'node:http': {
    in: ['client', 'http', 'access/admit', 'hooks/send-post'],
    because: 'only the client, the server and the hooks with a URL speak HTTP',
  },
  'node:https': {
    in: ['client', 'http', 'hooks/send-post'],
    because: 'only the client, the server and the hooks with a URL speak HTTP',
  },
  'node:http2': {
    in: ['client', 'http'],
    because: 'only the client and the server speak HTTP',
  },
  'node:timers': { in: ['lib', 'demo-agent'], because: 'time is handed in: take a clock' },
  'node:timers/promises': { in: ['lib', 'demo-agent'], because: 'time is handed in: take a clock' },
};
