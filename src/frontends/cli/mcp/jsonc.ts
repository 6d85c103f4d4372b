import { AppError } from '../../../api/errors.ts';

/** A member of an object in JSON with comments, by where it stands in the text. */
interface Member {
  key: string;
  start: number;
  valueStart: number;
  valueEnd: number;
}

interface ObjectAt {
  /** Where its braces are. */
  open: number;
  close: number;
  members: readonly Member[];
}

/** The value at a path of keys; undefined where there is none. Throws `invalid` for a text that is not JSON. */
export function valueAt(text: string, keys: readonly string[]): unknown {
  const found = find(text, keys).at(-1);
  if (!found?.member) return undefined;
  const { valueStart, valueEnd } = found.member;
  return JSON.parse(withoutComments(text.slice(valueStart, valueEnd)));
}

/**
 * The text with a value at a path of keys. Objects on the way are made; all else, comments too, stays as it is. Throws
 * `invalid` for a text that is not JSON, or where something else than an object is on the way.
 */
export function withValue(text: string, keys: readonly string[], value: unknown): string {
  const whole = text.trim() === '' ? '{}\n' : text;
  const steps = find(whole, keys);
  const last = steps.at(-1);
  if (!last)
    throw new AppError(
      'invalid',
      `cannot set the key ${keys.join('.')} in the JSON file, because a parent of this key is not an object`,
    );
  const depth = steps.length;
  const [key = '', ...deeper] = keys.slice(depth - 1);
  if (last.member) {
    const { valueStart, valueEnd } = last.member;
    return whole.slice(0, valueStart) + json(value, depth) + whole.slice(valueEnd);
  }
  const made = deeper.reduceRight<unknown>((inner, name) => ({ [name]: inner }), value);
  const { open, close, members } = last.object;
  const line = `\n${'  '.repeat(depth)}${JSON.stringify(key)}: ${json(made, depth)}`;
  const isEmpty = members.length === 0;
  const end = isEmpty && whole.slice(open + 1, close).trim() === '' ? close : open + 1;
  const after = isEmpty ? (end === close ? `\n${'  '.repeat(depth - 1)}` : '') : ',';
  return whole.slice(0, open + 1) + line + after + whole.slice(end);
}

/** The text without the value at a path of keys, and without the objects that are empty then. */
export function withoutValue(text: string, keys: readonly string[]): string {
  const step = find(text, keys).at(-1);
  if (!step?.member) return text;
  const { object, member } = step;
  const isOnly = object.members.length === 1;
  const rest = cut(text, object, member);
  const around = keys.slice(0, -1);
  if (!isOnly || around.length === 0) return rest;
  const outer = find(rest, around).at(-1)?.member;
  const isBare = outer && /^\{\s*\}$/.test(rest.slice(outer.valueStart, outer.valueEnd));
  return isBare ? withoutValue(rest, around) : rest;
}

/** The objects on a path, as far as they are there, each with the member of the next key. */
function find(
  text: string,
  keys: readonly string[],
): { object: ObjectAt; member: Member | undefined }[] {
  const steps: { object: ObjectAt; member: Member | undefined }[] = [];
  let at = skip(text, text.startsWith('\ufeff') ? 1 : 0);
  for (const key of keys) {
    const object = objectAt(text, at);
    const member = object.members.findLast((one) => one.key === key);
    steps.push({ object, member });
    if (!member) break;
    at = member.valueStart;
  }
  return steps;
}

/** Removes a member, its comma, and the line break before it. */
function cut(text: string, { members }: ObjectAt, member: Member): string {
  const start = text.slice(0, member.start).trimEnd().length;
  const comma = skip(text, member.valueEnd);
  if (text[comma] === ',')
    return text.slice(0, start) + text.slice(member.valueEnd, comma) + text.slice(comma + 1);
  const before = members[members.indexOf(member) - 1];
  if (!before) return text.slice(0, start) + text.slice(member.valueEnd);
  const earlier = skip(text, before.valueEnd);
  return (
    text.slice(0, earlier) +
    text.slice(earlier + 1, Math.max(start, earlier + 1)) +
    text.slice(member.valueEnd)
  );
}

function objectAt(text: string, open: number): ObjectAt {
  if (text[open] !== '{') throw broken(text, open, 'an object');
  const members: Member[] = [];
  for (let at = skip(text, open + 1); ;) {
    if (text[at] === '}') return { open, close: at, members };
    const start = at;
    const keyEnd = stringEnd(text, at);
    at = skip(text, keyEnd);
    if (text[at] !== ':') throw broken(text, at, 'a colon');
    const valueStart = skip(text, at + 1);
    const valueEnd = endOfValue(text, valueStart);
    const key = JSON.parse(text.slice(start, keyEnd)) as string;
    members.push({ key, start, valueStart, valueEnd });
    at = skip(text, valueEnd);
    if (text[at] === ',') at = skip(text, at + 1);
    else if (text[at] !== '}') throw broken(text, at, 'a comma');
  }
}

function endOfValue(text: string, at: number): number {
  if (text[at] === '{') return objectAt(text, at).close + 1;
  if (text[at] === '"') return stringEnd(text, at);
  if (text[at] === '[') {
    for (let next = skip(text, at + 1); ;) {
      if (text[next] === ']') return next + 1;
      next = skip(text, endOfValue(text, next));
      if (text[next] === ',') next = skip(text, next + 1);
      else if (text[next] !== ']') throw broken(text, next, 'a comma');
    }
  }
  const word = /[\w.+-]+/y;
  word.lastIndex = at;
  if (!word.test(text)) throw broken(text, at, 'a value');
  return word.lastIndex;
}

function stringEnd(text: string, at: number): number {
  const string = /"(?:[^"\\\n]|\\.)*"/y;
  string.lastIndex = at;
  if (!string.test(text)) throw broken(text, at, 'a string');
  return string.lastIndex;
}

/** Where the next thing is that is neither blank nor comment. */
function skip(text: string, at: number): number {
  const blank = /(?:\s|\/\/[^\n]*|\/\*[\s\S]*?\*\/)*/y;
  blank.lastIndex = at;
  blank.test(text);
  return blank.lastIndex;
}

function withoutComments(text: string): string {
  const parts =
    /"(?:[^"\\\n]|\\.)*"|\/\/[^\n]*|\/\*[\s\S]*?\*\/|,(?=(?:\s|\/\/[^\n]*|\/\*[\s\S]*?\*\/)*[}\]])/g;
  return text.replaceAll(parts, (part) => (part.startsWith('"') ? part : ''));
}

function json(value: unknown, depth: number): string {
  return JSON.stringify(value, null, 2).replaceAll('\n', `\n${'  '.repeat(depth)}`);
}

function broken(text: string, at: number, wanted: string): AppError {
  const line = text.slice(0, at).split('\n').length;
  return new AppError('invalid', `line ${line} is not JSON: expected ${wanted}`);
}
