// Builds a zod schema when it is first used. The program describes all endpoints, events, messages of agents and the
// configuration, in thousands of schemas; to build them takes 20 ms of a start and 5 MB of memory, and most processes use
// a few of them. In the bundle `z.object({…}).meta(…)`, outside of functions, is a stand-in: the schema is built when a
// property of it is read. zod itself gets built schemas alone, wherever it takes other schemas.
import * as fs from 'node:fs';
import { parseSync } from 'oxc-parser';

const schemaFiles =
  /\/src\/(?:api|core\/config|agents)\/.*\.ts$|\/@modelcontextprotocol\/sdk\/dist\/esm\/types\.js$/;
const importsZod = /^import (?:\{ z \}|\* as z) from ['"]zod(?:\/v4)?['"];$/m;
// The methods of a schema that make another one.
const derives = new Set(
  'nullable optional nullish default describe meta array extend pick omit partial or and'.split(
    ' ',
  ),
);

export const lazySchemas = {
  name: 'lazy-schemas',
  setup(build) {
    build.onLoad({ filter: schemaFiles }, ({ path }) => {
      const code = fs.readFileSync(path, 'utf8');
      if (!importsZod.test(code)) return undefined;
      const imports = 'import { building as z, whenUsed as __whenUsed } from "lazy-schemas";';
      return {
        contents: lazily(path, code).replace(importsZod, imports),
        loader: path.endsWith('.ts') ? 'ts' : 'js',
      };
    });
    build.onResolve({ filter: /^lazy-schemas$/ }, ({ path, resolveDir }) => ({
      path,
      namespace: 'lazy-schemas',
      pluginData: resolveDir,
    }));
    build.onLoad({ filter: /.*/, namespace: 'lazy-schemas' }, ({ pluginData }) => ({
      contents: WHEN_USED,
      resolveDir: pluginData,
    }));
    build.onLoad(
      { filter: /zod\/v4\/core\/(?:registries|to-json-schema|json-schema-processors)\.js$/ },
      ({ path }) => ({
        contents: ofBuilt(path, fs.readFileSync(path, 'utf8')),
      }),
    );
  },
};

// Where zod looks up what it knows of a schema, it has to have the schema, never a stand-in.
const lookups =
  /^(?: {4}(?:get|has)|export function (?:processSchema|toJSONSchema))\((schema|input)\b.*\) \{$/gm;

function ofBuilt(path, code) {
  const changed = code.replace(
    lookups,
    (line, schema) => `${line}\n${schema} = ${schema}[Symbol.for('cadre.built')] ?? ${schema};`,
  );
  if (changed === code)
    throw new Error(`cannot patch ${path}: no schema lookup found: adapt scripts/lazy-schemas.mjs`);
  return changed;
}

const WHEN_USED = `
  import { z } from 'zod';
  const BUILT = Symbol.for('cadre.built');
  const isStandIn = new WeakSet();
  const takesSchemas = new Set(['or', 'and', 'extend', 'safeExtend', 'pipe', 'catchall']);
  const built = (value) => {
    if (typeof value !== 'object' || value === null) return value;
    if (isStandIn.has(value)) return value[BUILT];
    if (Array.isArray(value)) return value.map(built);
    if (Object.getPrototypeOf(value) !== Object.prototype) return value;
    for (const [key, { get }] of Object.entries(Object.getOwnPropertyDescriptors(value)))
      if (get === undefined) value[key] = built(value[key]);
    return value;
  };
  export const building = new Proxy(z, {
    get(_z, name) {
      const make = z[name];
      if (typeof make !== 'function' || /^[A-Z]/.test(name)) return make;
      return (...given) => make(...given.map(built));
    },
  });
  export function whenUsed(build) {
    let schema;
    const get = () => (schema ??= build());
    const standIn = new Proxy({}, {
      get(_none, key) {
        const schema = get();
        if (key === BUILT) return schema;
        const value = schema[key];
        if (typeof value !== 'function') return value;
        const takes = takesSchemas.has(key);
        return (...given) => value.apply(schema, takes ? given.map(built) : given);
      },
      has: (_none, key) => key in get(),
      set: (_none, key, value) => Reflect.set(get(), key, value),
      getPrototypeOf: () => Object.getPrototypeOf(get()),
    });
    isStandIn.add(standIn);
    return standIn;
  }`;

/** Wraps each outermost chain of calls that makes a schema, outside of functions. */
function lazily(path, code) {
  const { program, errors } = parseSync(path, code);
  if (errors.length > 0) throw new Error(`${path}: ${errors[0].message}`);
  return schemasIn(program).reduceRight(
    (text, { start, end }) =>
      `${text.slice(0, start)}__whenUsed(() => ${text.slice(start, end)})${text.slice(end)}`,
    code,
  );
}

/** The outermost calls below a node that make a schema, in their order in the text. */
function schemasIn(node) {
  if (Array.isArray(node)) return node.flatMap(schemasIn);
  if (typeof node?.type !== 'string' || /Function|ClassBody/.test(node.type)) return [];
  if (makesSchema(node)) return [node];
  return Object.values(node).flatMap((child) =>
    typeof child === 'object' ? schemasIn(child) : [],
  );
}

/** Whether a node is `z.….()`, `component(…)`, or `name.method()…` with a method that makes a schema of another. */
function makesSchema(node) {
  if (node.type !== 'CallExpression') return false;
  const names = [];
  let inner = node;
  while (inner.type !== 'Identifier') {
    if (inner.type === 'MemberExpression') names.push(inner.property.name);
    inner = inner.type === 'CallExpression' ? inner.callee : inner.object;
    if (inner === undefined) return false;
  }
  if (inner.name === 'component') return true;
  return inner.name === 'z' ? names.length > 0 : derives.has(names.at(-1));
}
