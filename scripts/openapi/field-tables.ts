import { type Schema, typeOf } from './schema-words.ts';

type LinkOf = (name: string) => string;

interface Row {
  name: string;
  isRequired: boolean;
  schema: Schema;
}

/** Returns a table of fields; one that may be absent is marked †. Fields of an object without a name follow it. */
export function fieldTable(title: string, schema: Schema, linkOf: LinkOf): string {
  const rows = rowsOf(schema, '').map(({ name, isRequired, schema }) => ({
    cells: [`\`${name}\`${isRequired ? '' : ' †'}`],
    schema,
  }));
  return rows.length === 0 ? 'It has no fields.' : describedTable([title], rows, linkOf);
}

/** Returns a table with the type, the limits and the description of each schema behind the given cells. */
export function describedTable(
  titles: readonly string[],
  rows: readonly { cells: string[]; schema: Schema }[],
  linkOf: LinkOf,
): string {
  return table(
    [...titles, 'Type', 'Description'],
    rows.map(({ cells, schema }) => [
      ...cells,
      typeAndLimits(schema, linkOf),
      schema.description ?? '',
    ]),
  );
}

/** Returns a Markdown table. */
export function table(titles: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell) => cell.replaceAll('\n', ' ').replaceAll('|', String.raw`\|`)).join(' | ')} |`;
  return [line(titles), line(titles.map(() => '---')), ...rows.map(line)].join('\n');
}

function rowsOf({ properties = {}, required = [] }: Schema, prefix: string): Row[] {
  return Object.entries(properties).flatMap(([name, schema]) => {
    const inner = objectIn(schema);
    const row = { name: `${prefix}${name}`, isRequired: required.includes(name), schema };
    return [row, ...(inner ? rowsOf(inner.schema, `${row.name}${inner.suffix}.`) : [])];
  });
}

/** Returns the object without a name of which a field has one or many. */
function objectIn(schema: Schema): { schema: Schema; suffix: string } | null {
  if (schema.properties) return { schema, suffix: '' };
  if (schema.items) {
    const inner = objectIn(schema.items);
    return inner && { ...inner, suffix: `[]${inner.suffix}` };
  }
  const parts = (schema.anyOf ?? schema.oneOf ?? []).flatMap((one) => objectIn(one) ?? []);
  return parts[0] ?? null;
}

function typeAndLimits(schema: Schema, linkOf: LinkOf): string {
  const limits = limitsOf(schema);
  return `${typeOf(schema, linkOf)}${limits.length > 0 ? ` (${limits.join(', ')})` : ''}`;
}

function limitsOf(schema: Schema): string[] {
  const parts = schema.anyOf ?? schema.oneOf ?? [];
  return [
    ...range(schema.minimum, schema.maximum),
    ...(schema.exclusiveMinimum === undefined ? [] : [`above ${schema.exclusiveMinimum}`]),
    ...counts(schema.minLength, schema.maxLength, 'character'),
    ...counts(schema.minItems, schema.maxItems, 'item'),
    ...patternOf(schema.pattern),
    ...parts.flatMap(limitsOf),
    ...(schema.items ? limitsOf(schema.items).map((one) => `each ${one}`) : []),
    ...(schema.default === undefined ? [] : [`default \`${valueText(schema.default)}\``]),
  ];
}

function valueText(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** Limits of numbers; those that every safe integer keeps say nothing. */
function range(least: number | undefined, most: number | undefined): string[] {
  const from = least !== undefined && least > -Number.MAX_SAFE_INTEGER ? least : null;
  const to = most !== undefined && most < Number.MAX_SAFE_INTEGER ? most : null;
  if (from !== null && to !== null) return [`${from} to ${to}`];
  if (to !== null) return [`at most ${to}`];
  return from !== null && from !== 0 ? [`at least ${from}`] : [];
}

function counts(least: number | undefined, most: number | undefined, unit: string): string[] {
  if (least !== undefined && most !== undefined) return [`${least} to ${most} ${unit}s`];
  if (most !== undefined) return [`at most ${most} ${unit}s`];
  return least === undefined ? [] : [`at least ${least} ${unit}${least === 1 ? '' : 's'}`];
}

const MAX_PATTERN = 60;

function patternOf(pattern: string | undefined): string[] {
  if (pattern === undefined || pattern.length > MAX_PATTERN) return [];
  return [pattern === String.raw`\S` ? 'not blank' : `matches \`${pattern}\``];
}
