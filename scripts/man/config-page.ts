import { z } from 'zod';
import { configSchema } from '../../src/core/config/schema.ts';
import { bold, escaped, page, type Page, prose, tagged } from './roff.ts';

interface Schema {
  type?: string | string[];
  enum?: string[];
  anyOf?: Schema[];
  items?: Schema;
  properties?: Record<string, Schema>;
  additionalProperties?: Schema | boolean;
  minimum?: number;
  maximum?: number;
  default?: unknown;
}

/** cadre-config(5): every key of the schema with its type, its default and what its comment says. */
export function configPage(
  comments: ReadonlyMap<string, string>,
  edition: Pick<Page, 'version' | 'date'>,
): string {
  const schema = z.toJSONSchema(configSchema, { io: 'input', unrepresentable: 'any' }) as Schema;
  const keys = Object.entries(schema.properties ?? {})
    .toSorted(([, a], [, b]) => Number(isSection(a)) - Number(isSection(b)))
    .map(([name, one]) => section(name, one, comments));
  const about = 'configuration file of cadre';
  return page({ name: 'cadre-config', section: 5, about, ...edition }, [
    ['Description', description],
    ['Keys', keys.join('\n')],
    [
      'Files',
      tagged(
        '\\fI~/.config/cadre/config.toml\\fR',
        'Configuration file. XDG_CONFIG_HOME replaces ~/.config, and CADRE_CONFIG replaces the whole path.',
      ),
    ],
    ['See also', `${bold('cadre')}(1),\n${bold('cadre-config')}(1)`],
  ]);
}

const description = [
  'The configuration is a TOML file; every key is optional. A flag takes precedence over an environment variable, and an environment variable over the file.',
  'The environment variable of a key is CADRE, its section and its name, in capitals: CADRE_SERVER_BIND_ADDRESS sets `server.bind_address`. In a variable, a list is a JSON or TOML array, or values separated by commas; a table is a JSON object.',
  '`cadre config show --origin` prints all keys with their values and the source of each, and `cadre config check` lists all problems.',
]
  .map((text) => prose(text))
  .join('\n.PP\n');

/** The keys below a name, under a heading; a key without a section stands by itself. */
function section(name: string, schema: Schema, comments: ReadonlyMap<string, string>): string {
  const lines = below(name, schema, comments);
  const about = comments.get(name);
  if (!isSection(schema)) return lines.join('\n');
  return [`.SS ${escaped(name)}`, about ? prose(about) : '', ...lines].filter(Boolean).join('\n');
}

function below(path: string, schema: Schema, comments: ReadonlyMap<string, string>): string[] {
  const own = partOf(schema);
  const key = [tagged(bold(path), [comments.get(path), facts(schema)].filter(Boolean).join(' '))];
  const deeper = (part: Schema, at: string) =>
    Object.entries(part.properties ?? {}).flatMap(([name, one]) =>
      below(`${at}.${name}`, one, comments),
    );
  if (own.properties) return deeper(own, path);
  if (own.items?.properties) return [...key, ...deeper(own.items, `${path}[]`)];
  const named = own.additionalProperties;
  if (typeof named === 'object' && named.properties)
    return [...key, ...deeper(named, `${path}.NAME`)];
  return key;
}

function isSection(schema: Schema): boolean {
  return partOf(schema).properties !== undefined;
}

/** A schema without the null that it allows. */
function partOf(schema: Schema): Schema {
  const others = schema.anyOf?.filter(({ type }) => type !== 'null') ?? [];
  return others.length === 1 && others[0] ? others[0] : schema;
}

function facts(schema: Schema): string {
  const text = `${typeOf(schema)}.`;
  const start = text.charAt(0).toUpperCase() + text.slice(1);
  const { default: value } = schema;
  if (value === undefined) return start;
  return `${start} Default: ${value === null ? 'none' : `\`${JSON.stringify(value)}\``}.`;
}

function typeOf(schema: Schema): string {
  const { type, enum: values, minimum, maximum, items, additionalProperties } = schema;
  if (schema.anyOf)
    return schema.anyOf
      .filter((one) => one.type !== 'null')
      .map(typeOf)
      .join(' or ');
  if (values) return `one of ${values.map((value) => `\`${value}\``).join(', ')}`;
  if (type === 'array')
    return items?.properties ? 'list of tables' : `list: each ${typeOf(items ?? {})}`;
  if (type === 'object')
    return typeof additionalProperties === 'object' ? 'table with names of your choice' : 'table';
  if (type !== 'integer')
    return [type ?? 'any value']
      .flat()
      .filter((one) => one !== 'null')
      .join(' or ');
  return `integer${minimum === undefined ? '' : ` from ${minimum}`}${isLimit(maximum) ? ` to ${maximum}` : ''}`;
}

/** Whether a maximum says more than that numbers are exact. */
function isLimit(maximum: number | undefined): maximum is number {
  return maximum !== undefined && maximum < Number.MAX_SAFE_INTEGER;
}
