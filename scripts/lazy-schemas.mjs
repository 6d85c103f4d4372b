// Builds a zod schema when it is first used. The program describes all endpoints, events, messages of agents and the
// configuration, in thousands of schemas; to build them takes 20 ms of a start and 5 MB of memory, and most processes use
// a few of them. In the bundle `z.object({…}).meta(…)`, outside of functions, is a stand-in: the schema is built when a
// property of it is read. zod itself gets built schemas alone, wherever it takes other schemas.
import * as fs from 'node:fs';
import { relative, sep } from 'node:path';
import { transform } from 'esbuild';

const schemaFiles =
  /\/src\/(?:api|config|providers)\/.*\.ts$|\/@modelcontextprotocol\/sdk\/dist\/esm\/types\.js$/;
const importsZod = /^import (?:\{ z \}|\* as z) from ['"]zod(?:\/v4)?['"];$/m;
// `z.`, or a schema that another is made from.
const schemaCall =
  /^(?:z\.\w|[a-zA-Z]\w*\.(?:nullable|optional|nullish|default|describe|meta|array|extend|pick|omit|partial|or|and)\()/;

export const lazySchemas = {
  name: 'lazy-schemas',
  setup(build) {
    build.onLoad({ filter: schemaFiles }, async ({ path }) => {
      const { code } = await transform(fs.readFileSync(path, 'utf8'), {
        loader: path.endsWith('.ts') ? 'ts' : 'js',
        target: build.initialOptions.target,
        sourcefile: relative(process.cwd(), path).split(sep).join('/'),
      });
      if (!importsZod.test(code)) return { contents: code };
      const imports =
        'import { z } from "zod";\nimport { whenUsed as __whenUsed } from "lazy-schemas";';
      return { contents: lazily(code).replace(importsZod, imports) };
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
  if (changed === code) throw new Error(`${path} has changed: where does it look a schema up?`);
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
  const building = new Proxy(z, {
    get(_z, name) {
      const make = z[name];
      if (typeof make !== 'function' || /^[A-Z]/.test(name)) return make;
      return (...given) => make(...given.map(built));
    },
  });
  export function whenUsed(build) {
    let schema;
    const get = () => (schema ??= build(building));
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

/** Wraps each outermost chain of calls that begins with \`z.\`, outside of functions, of code as esbuild prints it. */
function lazily(code) {
  let out = '';
  let at = 0;
  const functions = [];
  let depth = 0;
  while (at < code.length) {
    if (functions.length === 0 && beginsSchema(code, at)) {
      const end = endOfChain(code, at);
      const chain = code.slice(at, end);
      out += chain.endsWith(')') ? `__whenUsed((z) => ${chain})` : chain;
      at = end;
      continue;
    }
    const token = tokenAt(code, at);
    if (opens(token)) {
      depth += 1;
      if (token === '{' && /(?:\)|=>)\s*$/.test(out)) functions.push(depth);
      if (token === '(' && /=>\s*$/.test(out)) functions.push(depth);
    }
    if (closes(token)) {
      if (functions.at(-1) === depth) functions.pop();
      depth -= 1;
    }
    // The body of an arrow function without braces: nothing in its line is wrapped.
    if (token === '=>' && !/^\s*[{(]/.test(code.slice(at + 2))) {
      const end = endOfExpression(code, at + 2);
      out += code.slice(at, end);
      at = end;
      continue;
    }
    out += token;
    at += token.length;
  }
  return out;
}

const opens = (token) => token === '(' || token === '[' || token === '{';
const closes = (token) => token === ')' || token === ']' || token === '}';

function beginsSchema(code, at) {
  return schemaCall.test(code.slice(at, at + 80)) && !/[\w$.]/.test(code[at - 1] ?? '');
}

/** A string, comment, regular expression or template, whole; else a word or one character. */
function tokenAt(code, at) {
  const rest = code.slice(at, at + 20_000);
  const before = code.slice(Math.max(0, at - 40), at);
  const found =
    /^(?:"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|\/\/[^\n]*|\/\*[^]*?\*\/|=>)/.exec(rest)?.[0] ??
    (rest[0] === '`' ? /^`(?:[^`\\]|\\.)*`/.exec(rest)?.[0] : undefined) ??
    (rest[0] === '/' && /[(,=:[!&|?{};]\s*$/.test(before)
      ? /^\/(?:[^/\\[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+\/[a-z]*/.exec(rest)?.[0]
      : undefined);
  if (found !== undefined) return found;
  return /^[\w$]+/.exec(rest)?.[0] ?? rest[0];
}

/** Where a chain of names, calls and their arguments ends. */
function endOfChain(code, start) {
  let at = start;
  for (;;) {
    const word = /^\s*\.?[\w$]+/.exec(code.slice(at, at + 200));
    const isNext = word && (at === start || /^\s*\./.test(word[0]));
    if (isNext) at += word[0].length;
    else if (code[at] === '.') at += 1;
    else if (code[at] === '(') at = endOfBrackets(code, at);
    else return at;
  }
}

function endOfBrackets(code, start) {
  let depth = 0;
  for (let at = start; at < code.length;) {
    const token = tokenAt(code, at);
    at += token.length;
    if (opens(token)) depth += 1;
    if (closes(token)) depth -= 1;
    if (depth === 0) return at;
  }
  throw new Error('a bracket is not closed');
}

function endOfExpression(code, start) {
  let depth = 0;
  for (let at = start; at < code.length;) {
    const token = tokenAt(code, at);
    if (depth === 0 && (closes(token) || token === ',' || token === ';')) return at;
    if (opens(token)) depth += 1;
    if (closes(token)) depth -= 1;
    at += token.length;
  }
  return code.length;
}
