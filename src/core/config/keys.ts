import type { z } from 'zod';
import { type Config, configSchema } from './schema.ts';

/** A table of values or further tables, as the configuration is nested. */
export type Tree = Record<string, unknown>;

/** A key of the configuration: for a value, a list, or a table whose names the user chooses. */
export interface Key {
  path: readonly string[];
  /** Its path with dots. */
  name: string;
  schema: z.ZodType;
}

export const keys: readonly Key[] = [...keysOf(configSchema, [])];

/** Returns the names of the keys in a section; empty if `path` is not a section. */
export function namesIn(path: readonly string[]): string[] {
  let schema: z.ZodType | undefined = configSchema;
  for (const part of path) schema = schema && (shapeOf(schema)?.[part] ?? sectionOf(schema));
  return Object.keys((schema && shapeOf(schema)) ?? {});
}

/** The keys of a configuration with their values. A section that is null counts as one key with the value null. */
export function valuesOf(config: Config): { name: string; value: unknown }[] {
  const paths = keys.map(({ path }) => {
    const absent = path.findIndex((_, at) => valueAt(config, path.slice(0, at + 1)) === null);
    return absent < 0 ? path : path.slice(0, absent + 1);
  });
  const named = new Map(paths.map((path) => [path.join('.'), path]));
  return [...named].map(([name, path]) => ({ name, value: valueAt(config, path) }));
}

export function valueAt(tree: unknown, path: readonly PropertyKey[]): unknown {
  let value = tree;
  for (const part of path)
    value = (value as Record<PropertyKey, unknown> | null | undefined)?.[part];
  return value;
}

/** Sets the value at a path. Replaces a value on the way that is not a table. */
export function put(tree: Tree, path: readonly string[], value: unknown): void {
  const [first = '', ...rest] = path;
  if (rest.length === 0) {
    tree[first] = value;
    return;
  }
  const below = tree[first];
  const table = isTree(below) ? below : emptyTree();
  tree[first] = table;
  put(table, rest, value);
}

/** A table without a prototype, so that no name in a file refers to a property of it. */
export function emptyTree(): Tree {
  return Object.create(null) as Tree;
}

export function isTree(value: unknown): value is Tree {
  if (typeof value !== 'object' || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || prototype === Object.prototype;
}

function* keysOf(schema: z.ZodType, path: readonly string[]): Generator<Key> {
  const shape = shapeOf(schema);
  if (!shape) yield { path, name: path.join('.'), schema: unwrap(schema) };
  for (const [name, part] of Object.entries(shape ?? {})) yield* keysOf(part, [...path, name]);
}

function shapeOf(schema: z.ZodType): Record<string, z.ZodType> | undefined {
  const inner = unwrap(schema);
  return 'shape' in inner ? (inner.shape as Record<string, z.ZodType>) : undefined;
}

/** The schema of the sections in a list, or in a table whose names the user chooses. */
function sectionOf(schema: z.ZodType): z.ZodType | undefined {
  const inner = unwrap(schema);
  if ('valueType' in inner) return inner.valueType as z.ZodType;
  return 'element' in inner ? (inner.element as z.ZodType) : undefined;
}

function unwrap(schema: z.ZodType): z.ZodType {
  const { def } = schema as unknown as { def: { type: string; innerType?: z.ZodType } };
  return def.innerType && ['default', 'prefault', 'nullable', 'optional'].includes(def.type)
    ? unwrap(def.innerType)
    : schema;
}
