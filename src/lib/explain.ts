import type { z } from 'zod';
import { nearest } from './nearest.ts';
import { shorten } from './shorten.ts';

/**
 * What a value has to be, in words for who sent it: handed to zod as `error`, so that it says no "expected record".
 * Undefined where zod's own words will do. What the value was is not told: it may be a secret.
 */
export const inWords: z.core.$ZodErrorMap = (issue) => {
  switch (issue.code) {
    case 'invalid_type': {
      const { format } =
        (issue.inst as unknown as { def: { format?: string } } | undefined)?.def ?? {};
      const noun = nouns[format === 'safeint' ? 'int' : issue.expected] ?? issue.expected;
      return issue.input === undefined ? `is needed: ${noun}` : `has to be ${noun}`;
    }
    case 'invalid_value': {
      const values = issue.values.map((value) => JSON.stringify(value)).join(', ');
      const one = issue.values.length === 1 ? values : `one of ${values}`;
      return issue.input === undefined ? `is needed: ${one}` : `has to be ${one}`;
    }
    case 'too_small':
      return limitInWords(
        issue.origin,
        issue.inclusive === false ? 'more than' : 'at least',
        issue.minimum,
      );
    case 'too_big':
      return limitInWords(
        issue.origin,
        issue.inclusive === false ? 'less than' : 'at most',
        issue.maximum,
      );
    case 'invalid_format':
      return issue.format === 'regex'
        ? `has to match ${issue.pattern}`
        : `has to be ${formats[issue.format] ?? issue.format}`;
    case 'invalid_union':
      return issue.input === undefined ? 'is needed' : 'is none of the kinds that are taken here';
    default:
      return undefined;
  }
};

/** Types, as people say them. */
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

function limitInWords(origin: string, bound: string, limit: number | bigint): string {
  const unit = { string: 'characters', array: 'entries' }[origin];
  const what =
    unit &&
    (Number(limit) === 1 ? unit.replace(/(?:ie)?s$/, (end) => (end === 's' ? '' : 'y')) : unit);
  return what ? `has to have ${bound} ${limit} ${what}` : `has to be ${bound} ${limit}`;
}

/** What is wrong with a value, and what it may be, in a line that names the field under `part`. */
export function explain(error: z.ZodError, part: string, schema: z.ZodType): string {
  const [issue] = error.issues;
  return issue ? describe(issue, part, schema) : `${part}: not valid`;
}

function describe(issue: z.core.$ZodIssue, place: string, schema: z.ZodType): string {
  const here = [place, ...issue.path.map(String)].join('.');
  const inner = schemaAt(schema, issue.path);
  if (issue.code === 'unrecognized_keys') {
    const allowed = inner ? fieldsOf(inner) : [];
    const [meant] = nearest(allowed, issue.keys[0] ?? '', (name) => name);
    const hint = allowed.length > 0 ? `it takes: ${allowed.join(', ')}` : 'it takes none';
    const guess = meant === undefined ? '' : `; did you mean "${meant}"?`;
    return `${here}: unknown field ${named(issue.keys)}${guess}${guess ? ' ' : '; '}${hint}`;
  }
  const kinds = kindsIn(issue);
  if (kinds) return `${here}: has to be ${[...new Set(kinds)].join(' or ')}`;
  if (issue.code === 'invalid_union' && issue.errors.length > 0) {
    // The alternative that was meant is the one that got furthest.
    const furthest = issue.errors
      .map((issues, option) => ({ issues, option }))
      .toSorted(
        (a, b) => depthOf(b.issues) - depthOf(a.issues) || a.issues.length - b.issues.length,
      )[0];
    const options = inner && 'options' in inner ? (inner.options as z.ZodType[]) : [];
    const [first] = furthest?.issues ?? [];
    const meant = options[furthest?.option ?? 0];
    if (first && meant) return describe(first, here, meant);
  }
  return `${here}: ${lower(issue.message)}`;
}

/** What a value may be where it is of no kind that any alternative takes; null where one of them takes its kind. */
function kindsIn(issue: z.core.$ZodIssue): string[] | null {
  if (issue.code !== 'invalid_union' || issue.errors.length === 0) return null;
  const kinds = issue.errors.map(([first]) => {
    if (!first || first.path.length > 0) return null;
    if (first.code === 'invalid_union') return kindsIn(first);
    return /^has to be (.+)$/.exec(first.message)?.slice(1) ?? null;
  });
  return kinds.every((one) => one !== null) ? kinds.flat() : null;
}

/** The names of fields that a caller gave, as many and as much of them as one line takes. */
function named(keys: readonly string[]): string {
  const names = keys.slice(0, MAX_NAMED).map((key) => `"${shorten(key, MAX_NAME_CHARACTERS)}"`);
  const more = keys.length - names.length;
  return more > 0 ? `${names.join(', ')} and ${more} more` : names.join(', ');
}

const MAX_NAMED = 10;
const MAX_NAME_CHARACTERS = 100;

/** How far into the value the first complaint lies; a wrong kind of value at once is no distance at all. */
function depthOf(issues: readonly z.core.$ZodIssue[]): number {
  const [first] = issues;
  if (!first) return 0;
  return (
    first.path.length + (first.code === 'invalid_type' || first.code === 'invalid_value' ? 0 : 1)
  );
}

/** What is of use of any schema's insides. */
interface Inside {
  def: {
    type: string;
    innerType?: z.ZodType;
    element?: z.ZodType;
    shape?: Record<string, z.ZodType>;
    options?: z.ZodType[];
  };
}

/** The part of a schema that describes the value at a path; of alternatives, the first that has one. */
function schemaAt(schema: z.ZodType, path: readonly PropertyKey[]): z.ZodType | undefined {
  const { def } = schema as unknown as Inside;
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

/** The names of the fields of an object, or of all objects it may be. */
function fieldsOf(schema: z.ZodType): string[] {
  const { def } = schema as unknown as Inside;
  const names = def.options ? def.options.flatMap(fieldsOf) : Object.keys(def.shape ?? {});
  return [...new Set(names)];
}

function lower(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1);
}
