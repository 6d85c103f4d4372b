// The import map, as data: who may import whom in src, and through which door each library comes in.
// The lint rule `cadre/import-map` (scripts/lint/plugin.js) reads it and prints the reason.
//
// A place is a path under src without its extension: a folder, or one file of it.
// `may` is any import, `types` only `import type`, `lazily` only `import()` or `import type`.
// A file of a folder stands before its folder. A place may always import itself.
// `only` lists the packages and node modules it may use at all.

const base = ['lib', 'errors'];
const records = ['events', 'store', 'api', ...base];
const features = ['sessions', 'processes', 'worktrees', 'teams', 'gateway'];

export const places = {
  lib: {
    may: [],
    because: 'lib knows no noun of ours, so that everything else can stand on it',
  },
  errors: {
    may: [],
    because: 'every layer throws an AppError, so its list of codes stands on nothing',
  },
  api: {
    may: ['errors'],
    only: ['zod'],
    because:
      'api is what we promise, read by server and client alike: zod, errors and nothing that runs',
  },
  config: {
    may: ['children/identity', 'api/tool-names', 'api/provider-kinds', ...base],
    because:
      'config is read before anything is built, so it cannot know what is built from it; who a process is, is known before, and so are the names of tools and providers',
  },
  store: {
    may: base,
    because: 'store commits rows and knows no noun: each noun brings its own SQL',
  },
  events: {
    may: ['store', 'api', ...base],
    because:
      'events is one ordered log below every noun: it knows the shape of an event, not who writes it',
  },
  children: {
    may: ['store', 'events', ...base],
    because:
      'children is the one door to child processes: who starts one calls it, it calls no one back',
  },
  'providers/configured': {
    may: ['providers', ...base],
    types: ['api', 'config/schema', 'children/supervisor'],
    because:
      'the list of adapters gives each its section of the configuration; no adapter knows another section',
  },
  providers: {
    may: ['children', 'api/provider-kinds', ...base],
    types: ['api'],
    because:
      'a provider translates an agent to our interface and back: it decides nothing and writes no row; what is known of it before it runs stands in api/provider-kinds',
  },
  access: {
    may: ['store', 'api', ...base],
    because:
      'access says whose a token is and what its bearer may do; who asks for what is the business of http',
  },
  sessions: {
    may: ['providers/provider', 'children/environment', ...records],
    types: ['children/supervisor'],
    because:
      'sessions is the lowest noun: it knows a provider by its one interface, and starts no child itself',
  },
  processes: {
    may: ['sessions', 'children', ...records],
    because:
      'a lower noun never imports a higher one: runtime/ wires the higher service to its hook',
  },
  worktrees: {
    may: ['sessions', 'processes', 'children', ...records],
    because:
      'a lower noun never imports a higher one: runtime/ wires the higher service to its hook',
  },
  teams: {
    may: ['sessions', 'processes', 'worktrees', ...records],
    because:
      'teams act through the services of the nouns below them; runtime/ wires what lies above',
  },
  gateway: {
    may: ['sessions', 'processes', 'worktrees', 'teams', ...records],
    types: ['providers/provider', 'access/session-tokens'],
    lazily: ['mcp'],
    because:
      'a tool call is a use-case of a noun: the gateway calls its service and reaches no edge',
  },
  recovery: {
    may: [...features, 'children', 'providers/provider', ...records],
    because: 'recovery repairs what is stored before any edge is open',
  },
  retention: {
    may: ['sessions', 'processes', ...records],
    because: 'retention lets go what is stored of every noun, and is called by none',
  },
  diagnostics: {
    may: ['retention/budget', ...records],
    because: 'diagnostics counts what the nouns did, and changes nothing',
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
      'http turns a request into a call of a service: rows, children and providers lie behind services',
  },
  client: {
    may: ['api', ...base],
    because: 'the client is our public SDK: what it imports, every user of it loads',
  },
  cli: {
    may: ['client', 'api', 'config', ...base],
    lazily: [
      'runtime',
      'providers/configured',
      'worktrees/git',
      'store',
      'mcp',
      'demo-agent',
      'tui',
    ],
    because:
      'a command is a client of the server; what a subcommand starts in its own process it loads on demand',
  },
  tui: {
    may: ['client', 'api', ...base],
    because: 'the screen shows what the client reads, so that it works against any server',
  },
  mcp: {
    may: ['client', 'api', ...base],
    because: 'every provider session starts a sidecar: it loads neither fastify, ink nor sql.js',
  },
  'demo-agent': {
    may: ['lib'],
    because: 'the demo agent stands for a foreign program: it knows ACP and nothing of ours',
  },
  runtime: {
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
      'the composition root builds the server; cli, tui and client are on the far side of HTTP',
  },
  main: {
    may: ['cli', ...base],
    because: 'main hands argv to cli; whatever else it loads, every command waits for',
  },
};

// Library -> its doors. A trailing * matches the rest of the name; a package with no line here is refused.
export const doors = {
  zod: { in: ['*'], because: 'schemas are how we describe values' },
  'sql.js': {
    in: ['store'],
    because: 'one place knows which SQLite we run on and when it is on disk',
  },
  fastify: {
    in: ['http'],
    because: 'a route is an endpoint of api and a handler; only http mounts it',
  },
  '@fastify/*': {
    in: ['http'],
    because: 'a route is an endpoint of api and a handler; only http mounts it',
  },
  commander: {
    in: ['cli'],
    because: 'the command tree is built in one place, and completions are written from it',
  },
  'fastest-levenshtein': {
    in: ['lib'],
    because: '"did you mean" is said in one way, by lib/nearest',
  },
  ink: {
    in: ['tui'],
    because: 'the screen is the only one to draw; tui/state.ts is tested without it',
  },
  react: {
    in: ['tui'],
    because: 'the screen is the only one to draw; tui/state.ts is tested without it',
  },
  execa: {
    in: ['children'],
    because: 'every child goes through gate, keeper, ledger and marker, or nobody ends it',
  },
  'simple-git': {
    in: ['worktrees'],
    because: 'git is asked in one place, in the words of a worktree',
  },
  '@agentclientprotocol/sdk': {
    in: ['providers/acp', 'demo-agent'],
    because: 'ACP is the word of one provider; its types would become ours',
  },
  '@modelcontextprotocol/sdk': {
    in: ['mcp'],
    because: 'MCP is how agents reach the tools; what a tool does knows nothing of it',
  },
  pino: {
    in: ['lib/log'],
    because: 'everyone logs through lib/log, so redaction and format are decided once',
  },
  'smol-toml': { in: ['config'], because: 'TOML is the format of the config file only' },
  'eventsource-parser': {
    in: ['client'],
    because: 'a stream is read by the client, which resumes it by id',
  },
  uuid: {
    in: ['lib'],
    because: 'ids are handed in from lib, so that a test can say which comes next',
  },

  'node:child_process': {
    in: ['children', 'store/lock'],
    because:
      'every child goes through gate, keeper, ledger and marker, or nobody ends it (flock is the one exception)',
  },
  'node:http': {
    in: ['client', 'http', 'access/admit'],
    because: 'the wire is spoken by the client and the server only',
  },
  'node:https': {
    in: ['client', 'http'],
    because: 'the wire is spoken by the client and the server only',
  },
  'node:http2': {
    in: ['client', 'http'],
    because: 'the wire is spoken by the client and the server only',
  },
  'node:timers': { in: ['lib', 'demo-agent'], because: 'time is handed in: take a clock' },
  'node:timers/promises': { in: ['lib', 'demo-agent'], because: 'time is handed in: take a clock' },
};
