import fs from 'node:fs';
import path from 'node:path';
import { distance } from 'fastest-levenshtein';
import { parse, TomlError } from 'smol-toml';
import type { z } from 'zod';
import { AppError } from '../errors.ts';
import { defaultConfigFile, defaultDataDirectory } from './paths.ts';
import { type Config, configSchema } from './schema.ts';

type Tree = Record<string, unknown>;

/** What a command line may set; undefined where it does not. */
export interface ConfigFlags {
  config?: string | undefined;
  bindAddress?: string | undefined;
  dataDir?: string | undefined;
  logLevel?: string | undefined;
}

/**
 * The configuration: flags over environment over file over defaults. Throws `invalid`, naming the place and
 * what to write instead; a file that was named has to be there.
 */
export function loadConfig(flags: ConfigFlags, env: NodeJS.ProcessEnv): Config {
  const file = flags.config ?? defaultConfigFile(env);
  const fromFile = readToml(file, flags.config !== undefined || env.CADRE_CONFIG !== undefined);
  const merged = merge(merge(fromFile, fromEnvironment(env)), fromFlags(flags));
  const result = configSchema.safeParse(merged);
  if (result.success) return result.data;
  const where = Object.keys(fromFile).length > 0 ? ` (file: ${file})` : '';
  throw new AppError('invalid', `configuration: ${explain(result.error)}${where}`);
}

/** Where everything is kept: the configured directory, else `$XDG_DATA_HOME/cadre`. */
export function dataDirectory(config: Config, env: NodeJS.ProcessEnv): string {
  return path.resolve(config.data.root_dir ?? defaultDataDirectory(env));
}

function readToml(file: string, required: boolean): Tree {
  let text: string;
  try {
    text = fs.readFileSync(file, 'utf8');
  } catch (error) {
    if (!required && (error as NodeJS.ErrnoException).code === 'ENOENT') return {};
    throw new AppError(
      'invalid',
      `cannot read the configuration ${file}: ${(error as Error).message}`,
    );
  }
  try {
    return parse(text);
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    throw new AppError('invalid', `${file}:${error.line}: ${error.message.split('\n')[0]}`);
  }
}

/** `CADRE_SECTION_KEY` for each key of one value; what is no key is somebody else's. */
function fromEnvironment(env: NodeJS.ProcessEnv): Tree {
  const tree: Tree = {};
  for (const [keys, schema] of scalarKeys(configSchema, [])) {
    const value = env[`CADRE_${keys.join('_').toUpperCase()}`];
    if (value !== undefined) put(tree, keys, typed(value, schema));
  }
  return tree;
}

function fromFlags(flags: ConfigFlags): Tree {
  const tree: Tree = {};
  if (flags.bindAddress !== undefined) put(tree, ['server', 'bind_address'], flags.bindAddress);
  if (flags.dataDir !== undefined) put(tree, ['data', 'root_dir'], flags.dataDir);
  if (flags.logLevel !== undefined) put(tree, ['log', 'level'], flags.logLevel);
  return tree;
}

/** Every key that holds one value, with its schema. */
function* scalarKeys(schema: z.ZodType, at: string[]): Generator<[string[], z.ZodType]> {
  const inner = unwrap(schema);
  if ('shape' in inner) {
    for (const [key, part] of Object.entries(inner.shape as Record<string, z.ZodType>)) {
      yield* scalarKeys(part, [...at, key]);
    }
  } else if (!['array', 'record'].includes(inner.def.type)) {
    yield [at, inner];
  }
}

function unwrap(schema: z.ZodType): z.ZodType {
  const { def } = schema as unknown as { def: { type: string; innerType?: z.ZodType } };
  return def.innerType && ['default', 'prefault', 'nullable', 'optional'].includes(def.type)
    ? unwrap(def.innerType)
    : schema;
}

function typed(value: string, schema: z.ZodType): unknown {
  const { type } = schema.def;
  if (type === 'number' && /^-?\d+$/.test(value)) return Number(value);
  if (type === 'boolean' && /^(true|false)$/.test(value)) return value === 'true';
  return value;
}

function put(tree: Tree, keys: readonly string[], value: unknown): void {
  const [first = '', ...rest] = keys;
  if (rest.length === 0) tree[first] = value;
  else put((tree[first] ??= {}) as Tree, rest, value);
}

function merge(below: Tree, above: Tree): Tree {
  const merged = { ...below };
  for (const [key, value] of Object.entries(above)) {
    const under = merged[key];
    merged[key] = isTree(value) && isTree(under) ? merge(under, value) : value;
  }
  return merged;
}

function isTree(value: unknown): value is Tree {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function explain(error: z.ZodError): string {
  const [issue] = error.issues;
  if (!issue) return 'not valid';
  const place = issue.path.join('.');
  if (issue.code !== 'unrecognized_keys') return `${place}: ${issue.message}`;
  const [unknown = ''] = issue.keys;
  const known = keysAt(configSchema, issue.path.map(String));
  const nearest = known
    .filter((key) => distance(key, unknown) <= Math.max(2, unknown.length / 2))
    .toSorted((a, b) => distance(a, unknown) - distance(b, unknown))[0];
  return `unknown key "${[...issue.path, unknown].join('.')}"${nearest ? `; did you mean "${nearest}"?` : ''}`;
}

function keysAt(schema: z.ZodType, at: readonly string[]): string[] {
  const inner = unwrap(schema);
  const shape = 'shape' in inner ? (inner.shape as Record<string, z.ZodType>) : {};
  const [first, ...rest] = at;
  if (first === undefined) return Object.keys(shape);
  return shape[first] ? keysAt(shape[first], rest) : [];
}
