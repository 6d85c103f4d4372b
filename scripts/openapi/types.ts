/** A JSON Schema, as far as openapi.yaml uses it. */
export interface Schema {
  $ref?: string;
  type?: string | string[];
  description?: string;
  const?: unknown;
  enum?: unknown[];
  anyOf?: Schema[];
  oneOf?: Schema[];
  properties?: Record<string, Schema>;
  required?: string[];
  additionalProperties?: Schema | boolean;
  propertyNames?: Schema;
  items?: Schema;
}

/** Names that TypeScript has for something else. */
const renamed: Record<string, string> = { Error: 'ErrorBody' };

/** The name of the type of a component. */
export function typeName(component: string): string {
  return renamed[component] ?? component;
}

/** A component as an exported type. */
export function declaration(name: string, schema: Schema): string {
  const text = typeOf(schema);
  const head = comment(schema.description);
  return schema.properties
    ? `${head}export interface ${typeName(name)} ${text}\n`
    : `${head}export type ${typeName(name)} = ${text};\n`;
}

/**
 * A schema as a type. Limits, patterns and further fields have no place in it: a server may send fields that the type
 * does not have, and refuses unknown fields of a request.
 */
export function typeOf(schema: Schema): string {
  const { $ref, enum: values, anyOf, oneOf, type } = schema;
  if ($ref !== undefined) return typeName($ref.slice($ref.lastIndexOf('/') + 1));
  if ('const' in schema) return JSON.stringify(schema.const);
  if (values) return union(values.map((value) => JSON.stringify(value)));
  const parts = anyOf ?? oneOf;
  if (parts) return union(parts.map(typeOf));
  if (Array.isArray(type)) return union(type.map((one) => typeOf({ ...schema, type: one })));
  if (type === 'object' || schema.properties) return objectType(schema);
  if (type === 'array') return `Array<${typeOf(schema.items ?? {})}>`;
  if (type === 'integer' || type === 'number') return 'number';
  return type ?? 'unknown';
}

/** Fields with their comments, as the type of an object. */
export function fields(
  entries: readonly { name: string; schema: Schema; isRequired: boolean }[],
): string {
  const lines = entries.map(({ name, schema, isRequired }) => {
    const type = typeOf(schema);
    const value = isRequired || type === 'unknown' ? type : `${type} | undefined`;
    return `${comment(schema.description)}${key(name)}${isRequired ? '' : '?'}: ${value};`;
  });
  return `{\n${lines.join('\n')}\n}`;
}

export function comment(text: string | undefined): string {
  return text === undefined ? '' : `/** ${text.replaceAll('*/', '* /').replaceAll('\n', ' ')} */\n`;
}

function objectType({ properties, required = [], additionalProperties }: Schema): string {
  if (properties) {
    const entries = Object.entries(properties);
    return fields(
      entries.map(([name, schema]) => ({ name, schema, isRequired: required.includes(name) })),
    );
  }
  const values =
    typeof additionalProperties === 'object' ? typeOf(additionalProperties) : 'unknown';
  return `Record<string, ${values}>`;
}

function union(types: readonly string[]): string {
  return [...new Set(types)].join(' | ');
}

function key(name: string): string {
  return /^\w+$/.test(name) ? name : JSON.stringify(name);
}
