import { defineConfig } from 'oxlint';

const clock = 'time is handed in: take a clock from lib/clock';
const chance = 'chance is handed in: take random or ids from lib';

const random = [
  'randomUUID',
  'randomUUIDv7',
  'randomBytes',
  'randomInt',
  'randomFill',
  'randomFillSync',
  'getRandomValues',
  'webcrypto',
];

/** Time and chance at the globals; node:timers has its door in scripts/import-map.mjs. */
const timers = ['setTimeout', 'setInterval'].map((name) => ({ name, message: clock }));
const timeAndChance = [
  { object: 'Date', property: 'now', message: clock },
  { object: 'performance', property: 'now', message: clock },
  { object: 'process', property: 'hrtime', message: clock },
  { object: 'AbortSignal', property: 'timeout', message: clock },
  { object: 'Math', property: 'random', message: chance },
  ...random.map((property) => ({ object: 'crypto', property, message: chance })),
  ...['Date', 'performance'].map((property) => ({
    object: 'globalThis',
    property,
    message: clock,
  })),
  ...['Math', 'crypto'].map((property) => ({ object: 'globalThis', property, message: chance })),
];

/** What the pinned Node has, and the oldest that the npm package takes (package.json, engines) has not. */
const missing = 'Node 22.12 does not have it';
const newerGlobals = [
  'DisposableStack', // lib/undo.ts
  'AsyncDisposableStack',
  'SuppressedError',
  'CloseEvent',
  'Float16Array',
  'URLPattern',
].map((name) => ({ name, message: missing }));
const newerProperties = [
  { object: 'Error', property: 'isError', message: missing },
  { object: 'Intl', property: 'DurationFormat', message: missing },
  { object: 'Promise', property: 'try', message: missing },
  { object: 'RegExp', property: 'escape', message: missing },
  { object: 'process', property: 'execve', message: missing },
  { object: 'process', property: 'threadCpuUsage', message: missing },
];
const sources = [
  named('node:crypto', random, chance),
  named('crypto', random, chance),
  named('node:perf_hooks', ['performance'], clock),
  named('perf_hooks', ['performance'], clock),
];

export default defineConfig({
  plugins: ['eslint', 'typescript', 'unicorn', 'oxc', 'import', 'promise', 'node'],
  jsPlugins: ['./scripts/lint/plugin.js'],
  options: { typeAware: true, reportUnusedDisableDirectives: 'error' },
  categories: { correctness: 'error', suspicious: 'error', perf: 'error' },
  ignorePatterns: [
    'dist',
    'generated',
    'out',
    'completions',
    '/docs',
    'test/real-agents/install',
    'test/campaigns/api/clients',
  ],
  rules: {
    // Off, and why.
    'eslint/no-await-in-loop': 'off', // one after the other is the point: turns, pages, steps of a shutdown
    'eslint/no-control-regex': 'off', // escape sequences are what agents and processes print
    'eslint/no-shadow': 'off', // dependencies arrive under the name of the module they come from
    'eslint/no-underscore-dangle': 'off', // `_meta` is ACP's word, `_name` says "not used"
    'eslint/no-unmodified-loop-condition': 'off', // loops wait for a flag that another task sets
    'oxc/no-async-endpoint-handlers': 'off', // true of express; fastify awaits its handlers
    'oxc/no-map-spread': 'off', // a rule gives the next value by spreading the last one
    'promise/always-return': 'off', // a `then` run for its effect returns nothing
    'typescript/consistent-return': 'off', // blind to an exhaustive switch; the compiler checks returns
    'typescript/no-unsafe-type-assertion': 'off', // rows and parsed JSON get their type at a door, by assertion
    'unicorn/no-unnecessary-await': 'off', // typescript/await-thenable says it, with types
    'unicorn/consistent-function-scoping': 'off', // a factory keeps its helpers inside, next to its state
    'unicorn/require-post-message-target-origin': 'off', // true of browser windows; workers have no origin

    // On, beyond the categories.
    'eslint/eqeqeq': ['error', 'always', { null: 'ignore' }],
    'import/no-cycle': 'error', // the import map sees folders, this sees the files inside one
    'typescript/await-thenable': 'error',
    'typescript/no-floating-promises': 'error',
    'typescript/no-import-type-side-effects': 'error', // `import { type A }` still loads the module
    'typescript/no-misused-promises': 'error',
    'typescript/only-throw-error': 'error',
    // As only-throw-error: what was caught may be passed on.
    'typescript/prefer-promise-reject-errors': [
      'error',
      { allowThrowingUnknown: true, allowThrowingAny: true },
    ],
    'typescript/return-await': ['error', 'in-try-catch'],
    'typescript/switch-exhaustiveness-check': [
      'error',
      { considerDefaultExhaustiveForUnions: true },
    ],
    'typescript/use-unknown-in-catch-callback-variable': 'error',
  },
  overrides: [
    {
      files: ['src/**'],
      rules: {
        'cadre/foreign-files': 'error',
        'cadre/import-map': 'error',
        'cadre/no-bare-date': 'error',
        'cadre/no-vague-types': 'error',
        'cadre/vocabulary': 'error',
        'eslint/no-restricted-globals': restricted([...timers, ...newerGlobals]),
        'eslint/no-restricted-imports': ['error', { paths: sources }],
        'eslint/no-restricted-properties': ['error', ...timeAndChance, ...newerProperties],
        'typescript/no-explicit-any': 'error',
        'typescript/no-non-null-assertion': 'error',
      },
    },
    {
      files: ['src/agents/**', 'src/server/conversations/**', 'src/server/teams/**'],
      rules: { 'cadre/no-schema-in-function': 'error' },
    },
    {
      files: ['src/agents/lenient.ts'], // builds parts of schemas
      rules: { 'cadre/no-schema-in-function': 'off' },
    },
    {
      files: ['src/core/lib/**'], // the one home of time and chance
      rules: {
        'cadre/no-bare-date': 'off',
        'eslint/no-restricted-globals': restricted(newerGlobals),
        'eslint/no-restricted-imports': 'off',
        'eslint/no-restricted-properties': ['error', ...newerProperties],
      },
    },
    {
      files: ['src/agents/demo/**'], // stands for a foreign program, so it waits by itself
      rules: { 'eslint/no-restricted-globals': restricted(newerGlobals) },
    },
    {
      files: ['src/frontends/tui/**'],
      plugins: ['react'],
      rules: {
        'react/react-in-jsx-scope': 'off', // jsx is react-jsx
      },
    },
    {
      files: ['test/**'],
      plugins: ['vitest'],
      rules: {
        'cadre/no-clock-in-expect': 'error',
        'import/no-unassigned-import': 'off', // setup files are imported for what they do
        'typescript/unbound-method': 'off', // expect(object.method) does not call it
        'vitest/expect-expect': [
          'error',
          { assertFunctionNames: ['expect*', 'fc.assert', 'assert*'] },
        ],
        'vitest/no-conditional-expect': 'off', // tables and properties assert by case
        'vitest/require-mock-type-parameters': 'off', // the mock's type is that of the door it replaces
      },
    },
  ],
});

function restricted(
  globals: typeof newerGlobals,
): ['error', { globals: typeof newerGlobals; checkGlobalObject: boolean }] {
  return ['error', { globals, checkGlobalObject: true }];
}

/** A default import would reach the names under any other, so these modules are imported name by name. */
function named(name: string, names: readonly string[], message: string) {
  return {
    name,
    importNames: ['default', ...names],
    message: `${message}; import what else you need of ${name} by its name`,
  };
}
