/** A JSON Schema, as far as the pages of docs show it. */
export interface Schema {
  $ref?: string;
  type?: string | string[];
  const?: string | number | boolean;
  enum?: string[];
  anyOf?: Schema[];
  oneOf?: Schema[];
  items?: Schema;
  properties?: Record<string, Schema>;
  required?: string[];
  additionalProperties?: Schema | boolean;
  description?: string;
  default?: unknown;
  pattern?: string;
  minimum?: number;
  exclusiveMinimum?: number;
  maximum?: number;
  minLength?: number;
  maxLength?: number;
  minItems?: number;
  maxItems?: number;
}

/** Returns the name of the record that a schema refers to. */
export function recordName($ref: string): string {
  return $ref.slice($ref.lastIndexOf('/') + 1);
}

/** Returns a type in words; a record by its name, with a link. */
export function typeOf(schema: Schema, linkOf = linkInPage): string {
  if (schema.$ref) return linkOf(recordName(schema.$ref));
  const alternatives = schema.anyOf ?? schema.oneOf;
  if (alternatives) return alternatives.map((one) => typeOf(one, linkOf)).join(' or ');
  if (schema.enum) return schema.enum.map((value) => `\`${value}\``).join(', ');
  if (schema.const !== undefined) return `\`${schema.const}\``;
  if (schema.items) return `array of ${typeOf(schema.items, linkOf)}`;
  if (typeof schema.additionalProperties === 'object' && !schema.properties)
    return `object of ${typeOf(schema.additionalProperties, linkOf)}`;
  return [schema.type ?? 'anything'].flat().join(' or ');
}

/** Returns a link to the section of a record on the same page. */
export function linkInPage(name: string): string {
  return `[${name}](#${name.toLowerCase()})`;
}
