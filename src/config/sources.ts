import { parse, TomlError } from 'smol-toml';
import { AppError } from '../errors.ts';
import { readSmallFile } from '../lib/foreign-file.ts';
import { defaultConfigFile } from './paths.ts';
import { isTree, type Key, keys, type Tree, valueAt } from './keys.ts';

/** What a command line may set; undefined where it does not. */
export interface ConfigFlags {
  config?: string | undefined;
  bind?: string | undefined;
  /** On 127.0.0.1; `bind` wins over it. */
  port?: string | undefined;
  dataDir?: string | undefined;
  logLevel?: string | undefined;
}

/** A value that somebody has set, and where. */
export interface Setting {
  path: readonly string[];
  value: unknown;
  origin: Origin;
}

export interface Origin {
  /** As it is shown: `file PATH`, `environment NAME`, `flag --NAME`. */
  text: string;
  /** Closer, where that can be told: `line 3 of PATH`. */
  placeOf: (path: readonly PropertyKey[]) => string;
}

/** The file that is read. */
export function configFile(flags: Pick<ConfigFlags, 'config'>, env: NodeJS.ProcessEnv): string {
  return flags.config ?? defaultConfigFile(env);
}

/** What the file sets. Throws `invalid` for one that is no TOML, or was named and cannot be read. */
export function fromFile(flags: ConfigFlags, env: NodeJS.ProcessEnv): Setting[] {
  const file = configFile(flags, env);
  const text = readText(file, flags.config !== undefined || env.CADRE_CONFIG !== undefined);
  const origin: Origin = {
    text: `file ${file}`,
    placeOf(path) {
      const line = lineOf(text, path);
      return line === null ? `file ${file}` : `line ${line} of ${file}`;
    },
  };
  return settingsIn(parseToml(text, file), [], origin);
}

/** What `CADRE_SECTION_KEY` sets for each key; what is no key is somebody else's. */
export function fromEnvironment(env: NodeJS.ProcessEnv): Setting[] {
  return keys.flatMap((key) => {
    const name = `CADRE_${key.path.join('_').toUpperCase()}`;
    const value = env[name];
    const text = `environment ${name}`;
    const origin = { text, placeOf: () => text };
    return value === undefined ? [] : [{ path: key.path, value: typed(value, key), origin }];
  });
}

/** What flags set. */
export function fromFlags(flags: ConfigFlags): Setting[] {
  const address = flags.port === undefined ? undefined : `127.0.0.1:${flags.port}`;
  const given: [path: string[], flag: string, value: string | undefined][] = [
    [['server', 'bind_address'], '--port', address],
    [['server', 'bind_address'], '--bind', flags.bind],
    [['data', 'root_dir'], '--data-dir', flags.dataDir],
    [['log', 'level'], '--log-level', flags.logLevel],
  ];
  return given.flatMap(([path, flag, value]) => {
    const text = `flag ${flag}`;
    return value === undefined ? [] : [{ path, value, origin: { text, placeOf: () => text } }];
  });
}

/** A configuration is written by hand. */
const MAX_BYTES = 8 * 1024 * 1024;

function readText(file: string, required: boolean): string {
  try {
    return readSmallFile(file, { maxBytes: MAX_BYTES }).text;
  } catch (error) {
    if (!required && (error as NodeJS.ErrnoException).code === 'ENOENT') return '';
    throw new AppError('invalid', `cannot read ${file}: ${(error as Error).message}`);
  }
}

function parseToml(text: string, file: string): Tree {
  try {
    return parse(text);
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    // Its further lines quote the file, and so what may be a secret.
    throw new AppError('invalid', `${file}:${error.line}: ${error.message.split('\n')[0]}`);
  }
}

/** The values of a table, one by one; a section that is there and empty is one too. */
function settingsIn(table: Tree, path: readonly string[], origin: Origin): Setting[] {
  return Object.entries(table).flatMap(([name, value]) => {
    const at = [...path, name];
    const isKey = keys.some((key) => key.name === at.join('.'));
    return isTree(value) && !isKey && Object.keys(value).length > 0
      ? settingsIn(value, at, origin)
      : [{ path: at, value, origin }];
  });
}

/** The line at which a value is there, or as much of the way to it as there is. */
function lineOf(text: string, path: readonly PropertyKey[]): number | null {
  const lines = text.split('\n');
  for (let length = path.length; length > 0; length--) {
    const place = path.slice(0, length);
    const at = lines.findIndex(
      (_, last) => valueAt(parsed(lines.slice(0, last + 1)), place) !== undefined,
    );
    if (at >= 0) return at + 1;
  }
  return null;
}

/** The beginning of a file, or nothing where it ends within a value. */
function parsed(lines: readonly string[]): Tree {
  try {
    return parse(lines.join('\n'));
  } catch {
    return {};
  }
}

/** What a variable stands for: a list is an array of JSON or TOML or has commas between, a table is a JSON object. */
function typed(text: string, { schema }: Key): unknown {
  const { type } = schema.def;
  if (type === 'number' && /^-?\d+(\.\d+)?$/.test(text)) return Number(text);
  if (type === 'boolean' && /^(true|false)$/.test(text)) return text === 'true';
  if (type === 'record') return json(text);
  // `[::1],box` is a list of two hosts, and no array.
  if (type === 'array') return /^\s*\[\s*["'{\]]/.test(text) ? arrayIn(text) : listOf(text);
  return text;
}

/** What is no JSON stays what it is, and is then refused by its place. */
function json(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
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
