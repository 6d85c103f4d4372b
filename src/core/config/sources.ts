import { parse } from 'smol-toml';
import { invalidError } from '../../api/errors.ts';
import { readSmallFile } from '../lib/foreign-file.ts';
import { codeOf } from '../lib/system-error.ts';
import { parsedJson } from '../lib/parsed-json.ts';
import { defaultConfigFile } from './paths.ts';
import { isTree, type Key, keys, type Tree, valueAt } from './keys.ts';
import { parseToml } from './toml.ts';

/** The values that a command line may set; undefined where it does not. */
export interface ConfigFlags {
  config?: string | undefined;
  bind?: string | undefined;
  /** On 127.0.0.1; `bind` wins over it. */
  port?: string | undefined;
  dataDir?: string | undefined;
  logLevel?: string | undefined;
  /** In milliseconds. */
  stopAfterIdle?: number | undefined;
}

/** A value that a source sets, with its origin. */
export interface Setting {
  path: readonly string[];
  value: unknown;
  origin: Origin;
}

export interface Origin {
  isFile: boolean;
  /** As `config show` prints it: `file PATH`, `environment NAME`, `flag --NAME`. */
  text: string;
  /** The location of one value in it, as near as is known: `line 3 of PATH`. */
  locationOf: (path: readonly PropertyKey[]) => string;
}

export function configFile(flags: Pick<ConfigFlags, 'config'>, env: NodeJS.ProcessEnv): string {
  return flags.config ?? defaultConfigFile(env);
}

/** Returns the values in the file. Throws `invalid` for invalid TOML, and for a named file that cannot be read. */
export function fromFile(flags: ConfigFlags, env: NodeJS.ProcessEnv): Setting[] {
  const file = configFile(flags, env);
  const text = readText(file, flags.config !== undefined || Boolean(env.CADRE_CONFIG));
  const lineOf = lineFinder(text);
  const origin: Origin = {
    isFile: true,
    text: `file ${file}`,
    locationOf(path) {
      const line = lineOf(path);
      return line === null ? `file ${file}` : `line ${line} of ${file}`;
    },
  };
  return settingsIn(parseToml(text, file), [], origin);
}

/**
 * The values in variables `CADRE_SECTION_KEY`. A variable for no key is ignored: it may belong to another program. An
 * empty variable counts as unset, or as an empty list.
 */
export function fromEnvironment(env: NodeJS.ProcessEnv): Setting[] {
  return keys.flatMap((key) => {
    const name = `CADRE_${key.path.join('_').toUpperCase()}`;
    const value = env[name];
    if (value === undefined || (value === '' && key.schema.def.type !== 'array')) return [];
    return [
      { path: key.path, value: typed(value, key), origin: originNamed(`environment ${name}`) },
    ];
  });
}

export function fromFlags(flags: ConfigFlags): Setting[] {
  const address = flags.port === undefined ? undefined : `127.0.0.1:${flags.port}`;
  const values: [path: string[], flag: string, value: string | number | undefined][] = [
    [['server', 'bind_address'], '--port', address],
    [['server', 'bind_address'], '--bind', flags.bind],
    [['data', 'root_dir'], '--data-dir', flags.dataDir],
    [['log', 'level'], '--log-level', flags.logLevel],
    [['server', 'stop_after_idle_ms'], '--stop-after-idle', flags.stopAfterIdle],
  ];
  return values.flatMap(([path, flag, value]) =>
    value === undefined ? [] : [{ path, value, origin: originNamed(`flag ${flag}`) }],
  );
}

function originNamed(text: string): Origin {
  return { isFile: false, text, locationOf: () => text };
}

/** A limit far above every configuration that is written by hand. */
const MAX_BYTES = 8 * 1024 * 1024;

function readText(file: string, required: boolean): string {
  try {
    return readSmallFile(file, { maxBytes: MAX_BYTES }).text;
  } catch (error) {
    // With a HOME of `/dev/null`, the code is ENOTDIR.
    if (!required && ['ENOENT', 'ENOTDIR'].includes(codeOf(error))) return '';
    throw invalidError(`cannot read the configuration file ${file}: ${(error as Error).message}`);
  }
}

/** The values of a table, one by one. An empty section counts as a value. */
function settingsIn(table: Tree, path: readonly string[], origin: Origin): Setting[] {
  return Object.entries(table).flatMap(([name, value]) => {
    const at = [...path, name];
    const isKey = keys.some((key) => key.name === at.join('.'));
    return isTree(value) && !isKey && Object.keys(value).length > 0
      ? settingsIn(value, at, origin)
      : [{ path: at, value, origin }];
  });
}

/**
 * Returns a function for the number of the line after which a value of a valid file can be read, or else the nearest table
 * around it; null for neither. More lines never have fewer values, so the function bisects, and keeps what it has parsed: a
 * file may have a problem in each line.
 */
function lineFinder(text: string): (path: readonly PropertyKey[]) => number | null {
  const lines = text.split('\n');
  const known = new Map<number, Tree>();
  const firstLines = (count: number): Tree => {
    let tree = known.get(count);
    if (tree === undefined) known.set(count, (tree = parsed(lines, count)));
    return tree;
  };
  return (path) => {
    for (let length = path.length; length > 0; length--) {
      const prefix = path.slice(0, length);
      const has = (count: number) => valueAt(firstLines(count), prefix) !== undefined;
      let [low, high] = [1, lines.length];
      if (!has(high)) continue;
      while (low < high) {
        const middle = Math.floor((low + high) / 2);
        if (has(middle)) high = middle;
        else low = middle + 1;
      }
      return low;
    }
    return null;
  };
}

/** The values in the first lines of a file, without a value that they end within. */
function parsed(lines: readonly string[], count: number): Tree {
  for (let end = count; end > 0; end--) {
    try {
      return parse(lines.slice(0, end).join('\n'));
    } catch {
      // The lines end within a value.
    }
  }
  return {};
}

/** The value of a variable. The comment of `configSchema` says how lists and tables are written. */
function typed(text: string, { schema }: Key): unknown {
  const { type } = schema.def;
  if (type === 'number' && /^-?\d+(\.\d+)?$/.test(text)) return Number(text);
  if (type === 'boolean' && /^(true|false)$/.test(text)) return text === 'true';
  if (type === 'record') return json(text);
  // `[::1],box` is a list of two hosts, and no array.
  if (type === 'array') return /^\s*\[\s*["'{\]]/.test(text) ? arrayIn(text) : listOf(text);
  return text;
}

/** The value of JSON; any other text as it is, which the schema then refuses. */
function json(text: string): unknown {
  const value = parsedJson(text);
  return value === undefined ? text : value;
}

/** An array of strings or tables: `[{"name": "fast"}]`, or as a file has it, `[{name = "fast"}]`. */
function arrayIn(text: string): unknown {
  const value = json(text);
  if (value !== text) return value;
  try {
    const { value: array, ...others } = parse(`value = ${text}`);
    return Object.keys(others).length === 0 ? array : text;
  } catch {
    return text;
  }
}

function listOf(text: string): string[] {
  return text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '');
}
