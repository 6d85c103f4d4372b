// Leaves out of a start what libraries load and a start does not need: a library is loaded when it is first used, and what
// is never used is not in the bundle. Throws where a package's text is not what it was.
import * as fs from 'node:fs';
import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);

// The exports that our modules import from these libraries; for a module of Node, all exports.
const onFirstUse = {
  ...Object.fromEntries(
    [
      'node:crypto',
      'node:child_process',
      'node:readline',
      'node:readline/promises',
      'node:fs/promises',
      'node:stream/consumers',
    ].map((name) => [name, Object.keys(require(name))]),
  ),
  'simple-git': ['simpleGit', 'GitPluginError'],
  croner: ['Cron'],
};
const ours = /\/src\/[a-z]/;

// In these files, each of these modules is loaded when it is first used.
const required = {
  'fastify/lib/plugin-utils.js': ['semver'],
  'fastify/lib/server.js': ['node:https', 'node:http2', 'node:dns'],
  'commander/lib/command.js': ['node:child_process'],
};

// A function of one line where there was one that V8 has to compile at each start, for each route.
const compiled = {
  'find-my-way/lib/node.js': [
    /  const lines = \[\]\n[^]*?\n  return new Function\('path', 'i', .*/,
    `  const rest = prefix.slice(1)
  return (path, i) => path.startsWith(rest, i + 1)`,
  ],
  'find-my-way/lib/handler-storage.js': [
    /    const fnBody = \["'use strict'"\]\n[^]*?    return new Function\('NullObject', .*/,
    `    return (...values) => {
      const all = values.length > 4 && values[4] ? [...values.slice(0, 4), ...values[4]] : values
      const found = new NullObject()
      for (let i = 0; i < params.length; i++) found[params[i]] = all[i]
      return found
    }`,
  ],
};

const unused = {
  // mcp/tool-server.ts gives the server a validator that says so.
  '@modelcontextprotocol/sdk/dist/esm/validation/ajv-provider.js':
    'export class AjvJsonSchemaValidator {}',
  // Messages are English.
  'zod/v4/locales/index.js': `export { default as en } from './en.js';`,
  'zod/v4/classic/from-json-schema.js': `
    export function fromJSONSchema() { throw new Error('fromJSONSchema is not in this bundle'); }`,
  // http/app.ts configures fastify to use neither.
  '@fastify/ajv-compiler/index.js': '',
  '@fastify/fast-json-stringify-compiler/index.js': '',
};

const LAZY = `
  const lazy = (load) => new Proxy(function () {}, {
    apply: (_it, self, given) => Reflect.apply(load(), self, given),
    construct: (_it, given) => Reflect.construct(load(), given),
    get: (_it, key) => load()[key],
  });`;

export const leanLibraries = {
  name: 'lean-libraries',
  setup(build) {
    build.onResolve({ filter: filterOf(Object.keys(onFirstUse), '^', '$') }, onResolve);
    build.onLoad({ filter: /.*/, namespace: 'on-first-use' }, ({ path, pluginData }) => ({
      contents: standIn(path, onFirstUse[path]),
      resolveDir: pluginData,
    }));
    build.onLoad(
      { filter: filterOf(Object.keys(required), '/node_modules/', '$') },
      ({ path }) => ({
        contents: requiredLate(path, fs.readFileSync(path, 'utf8')),
      }),
    );
    build.onLoad(
      { filter: filterOf(Object.keys(compiled), '/node_modules/', '$') },
      ({ path }) => ({
        contents: notCompiled(path, fs.readFileSync(path, 'utf8')),
      }),
    );
    build.onLoad({ filter: filterOf(Object.keys(unused), '/node_modules/', '$') }, ({ path }) => ({
      contents: valueFor(path, unused),
    }));
  },
};

function onResolve({ path, importer, kind, resolveDir }) {
  if (kind !== 'import-statement' || !ours.test(importer)) return undefined;
  return { path, namespace: 'on-first-use', pluginData: resolveDir };
}

function standIn(library, names) {
  const exported = names.map(
    (name) => `export const ${name} = lazy(() => require('${library}').${name});`,
  );
  const whole = library.startsWith('node:')
    ? `export default lazy(() => require('${library}'));`
    : '';
  return [LAZY, ...exported, whole].join('\n');
}

function requiredLate(path, code) {
  return valueFor(path, required).reduce((text, name) => {
    const line = new RegExp(
      `^(?:const (\\w+) = require\\('${name}'\\)|import (\\w+) from '${name}');?$`,
      'm',
    );
    if (!line.test(text))
      throw new Error(
        `cannot patch ${path}: no import of ${name} found: adapt scripts/lean-libraries.mjs`,
      );
    return text.replace(line, `const $1$2 = lazy(() => require('${name}'));`);
  }, `${LAZY}\n${code}`);
}

function notCompiled(path, code) {
  const [part, by] = valueFor(path, compiled);
  if (!part.test(code))
    throw new Error(
      `cannot patch ${path}: no compiled function found: adapt scripts/lean-libraries.mjs`,
    );
  return code.replace(part, () => by);
}

function valueFor(path, table) {
  return Object.entries(table).find(([file]) => path.endsWith(`/node_modules/${file}`))[1];
}

function filterOf(names, before, after) {
  const escaped = names.map((name) => name.replaceAll(/[./]/g, '\\$&'));
  return new RegExp(`${before}(?:${escaped.join('|')})${after}`);
}
