import type { z } from 'zod';
import { shortNameList } from './short-name-list.ts';
import { nearest } from './nearest.ts';
import { shorten } from './shorten.ts';

/**
 * Says in plain words what a value has to be. zod takes it as its `error` option, in place of messages such as
 * "expected record". Returns undefined where zod's own message is good enough. The value itself is never quoted, because
 * it may be a secret.
 */
export const issueInWords: z.core.$ZodErrorMap = (issue) => {
  switch (issue.code) {
    case 'invalid_type': {
      const { format } =
        (issue.inst as unknown as { def: { format?: string } } | undefined)?.def ?? {};
      const noun = nouns[format === 'safeint' ? 'int' : issue.expected] ?? issue.expected;
      return issue.input === undefined ? `is required: ${noun}` : `has to be ${noun}`;
    }
    case 'invalid_value': {
      const values = issue.values.map((value) => JSON.stringify(value)).join(', ');
      const one = issue.values.length === 1 ? values : `one of ${values}`;
      return issue.input === undefined ? `is required: ${one}` : `has to be ${one}`;
    }
    case 'too_small':
      return limitInWords(issue, ['at least', 'more than'], issue.minimum);
    case 'too_big':
      return limitInWords(issue, ['at most', 'less than'], issue.maximum);
    case 'invalid_format':
      return issue.format === 'regex'
        ? `has to match ${issue.pattern}`
        : `has to be ${formats[issue.format] ?? issue.format}`;
    case 'invalid_union':
      return issue.input === undefined ? 'is required' : 'matches none of the accepted forms';
    default:
      return undefined;
  }
};

/** Plain words for zod's names of types. */
const nouns: Record<string, string> = {
  string: 'a string',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  object: 'an object',
  record: 'an object',
  array: 'an array',
  null: 'null',
  nonoptional: 'a value',
};

const formats: Record<string, string> = { base64: 'base64', url: 'a URL' };

function limitInWords(
  { origin, inclusive }: { origin: string; inclusive?: boolean | undefined },
  [included, excluded]: [string, string],
  limit: number | bigint,
): string {
  const bound = inclusive === false ? excluded : included;
  const unit = { string: 'characters', array: 'entries' }[origin];
  const what =
    unit &&
    (Number(limit) === 1 ? unit.replace(/(?:ie)?s$/, (end) => (end === 's' ? '' : 'y')) : unit);
  return what ? `has to have ${bound} ${limit} ${what}` : `has to be ${bound} ${limit}`;
}

/**
 * Says the limit of a whole number that exceeds what a double can hold exactly: the limit of its field, if the field has one.
 * Returns undefined for any other issue.
 */
function ownLimitInWords(
  issue: z.core.$ZodIssue,
  schema: z.ZodType | undefined,
): string | undefined {
  const { minValue: min, maxValue: max } = (schema ?? {}) as Partial<z.ZodNumber>;
  if (issue.code === 'too_big' && issue.maximum === Number.MAX_SAFE_INTEGER && max != null)
    return limitInWords(issue, ['at most', 'less than'], max);
  if (issue.code === 'too_small' && issue.minimum === Number.MIN_SAFE_INTEGER && min != null)
    return limitInWords(issue, ['at least', 'more than'], min);
  return undefined;
}

/** One line that names the first wrong field, as a path under `root`, and says what it has to be. */
export function explain(error: z.ZodError, root: string, schema: z.ZodType): string {
  const [issue] = error.issues;
  return issue ? explainIssue(issue, root, schema) : `${root}: not valid`;
}

function explainIssue(issue: z.core.$ZodIssue, root: string, schema: z.ZodType): string {
  const here = [root, ...issue.path.map(String)].join('.');
  const inner = schemaAt(schema, issue.path);
  if (issue.code === 'unrecognized_keys') {
    const allowed = inner ? fieldsOf(inner) : [];
    const [meant] = nearest(allowed, issue.keys[0] ?? '', (name) => name);
    const hint =
      allowed.length > 0 ? `known fields: ${allowed.join(', ')}` : 'no fields are accepted';
    const guess = meant === undefined ? '' : `; did you mean "${meant}"?`;
    return `${here}: unknown field ${quotedNames(issue.keys)}${guess}${guess ? ' ' : '; '}${hint}`;
  }
  const kinds = kindsOfAlternatives(issue);
  if (kinds) return `${here}: has to be ${[...new Set(kinds)].join(' or ')}`;
  const tag = tagOfAlternatives(issue);
  if (tag) return `${here}.${tag.field}: has to be one of ${tag.values.join(', ')}`;
  if (issue.code === 'invalid_union' && issue.errors.length > 0) {
    // The sender most likely meant the alternative whose first issue lies deepest in the value.
    const deepest = issue.errors
      .map((issues, option) => ({ issues, option }))
      .toSorted(
        (a, b) => depthOf(b.issues) - depthOf(a.issues) || a.issues.length - b.issues.length,
      )[0];
    const options = inner && 'options' in inner ? (inner.options as z.ZodType[]) : [];
    const [first] = deepest?.issues ?? [];
    const meant = options[deepest?.option ?? 0];
    if (first && meant) return explainIssue(first, here, meant);
  }
  return `${here}: ${lower(ownLimitInWords(issue, inner) ?? issue.message)}`;
}

/** The kinds that the alternatives of a union accept, if the value is of none of them; null if one accepts its kind. */
function kindsOfAlternatives(issue: z.core.$ZodIssue): string[] | null {
  if (issue.code !== 'invalid_union' || issue.errors.length === 0) return null;
  const kinds = issue.errors.map(([first]) => {
    if (!first || first.path.length > 0) return null;
    if (first.code === 'invalid_union') return kindsOfAlternatives(first);
    return /^has to be (.+)$/.exec(first.message)?.slice(1) ?? null;
  });
  return kinds.every((one) => one !== null) ? kinds.flat() : null;
}

/** The field by which the alternatives of a union differ, with its values, if the value has none of them; else null. */
function tagOfAlternatives(issue: z.core.$ZodIssue): { field: string; values: string[] } | null {
  if (issue.code !== 'invalid_union') return null;
  const values = new Set<string>();
  const fields = new Set<string | null>();
  for (const [first] of issue.errors) {
    const isTag = first?.code === 'invalid_value' && first.path.length === 1;
    fields.add(isTag ? String(first.path[0]) : null);
    if (isTag) for (const one of first.values) values.add(JSON.stringify(one));
  }
  const [field = null, ...others] = fields;
  return field === null || others.length > 0 ? null : { field, values: [...values] };
}

/** Field names that a caller sent, quoted; long names and long lists are cut, so that they fit on one line. */
function quotedNames(keys: readonly string[]): string {
  return shortNameList(keys.map((key) => `"${shorten(key, MAX_NAME_CHARACTERS)}"`));
}

const MAX_NAME_CHARACTERS = 100;

/** The depth of the first issue in the value. A value of the right type counts one level more than another. */
function depthOf(issues: readonly z.core.$ZodIssue[]): number {
  const [first] = issues;
  if (!first) return 0;
  return (
    first.path.length + (first.code === 'invalid_type' || first.code === 'invalid_value' ? 0 : 1)
  );
}

/** The internals of zod's schemas that are read here, which its types do not show. */
interface SchemaInternals {
  def: {
    type: string;
    innerType?: z.ZodType;
    element?: z.ZodType;
    shape?: Record<string, z.ZodType>;
    options?: z.ZodType[];
  };
}

/** The part of the schema that describes the value at `path`; of a union, the first alternative that has one. */
function schemaAt(schema: z.ZodType, path: readonly PropertyKey[]): z.ZodType | undefined {
  const { def } = schema as unknown as SchemaInternals;
  if (def.innerType) return schemaAt(def.innerType, path);
  const [key, ...rest] = path;
  if (key === undefined) return schema;
  for (const option of def.options ?? []) {
    const found = schemaAt(option, path);
    if (found) return found;
  }
  const next = def.type === 'array' ? def.element : def.shape?.[String(key)];
  return next && schemaAt(next, rest);
}

/** Returns the field names of an object schema, or of all alternatives of a union. */
function fieldsOf(schema: z.ZodType): string[] {
  const { def } = schema as unknown as SchemaInternals;
  const names = def.options ? def.options.flatMap(fieldsOf) : Object.keys(def.shape ?? {});
  return [...new Set(names)];
}

function lower(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1);
}
