// `modify` of the library would lay out the lines around a change again, and remove comments beside a removed value.
import {
  applyEdits,
  findNodeAtLocation,
  getNodeValue,
  type Node,
  type ParseError,
  parseTree,
  printParseErrorCode,
  visit,
} from 'jsonc-parser';
import { type AppError, invalidError } from '../../../api/errors.ts';

/** The value at a path of keys; undefined where there is none. Throws `invalid` for a text that is not JSON. */
export function valueAt(text: string, keys: readonly string[]): unknown {
  const node = find(text, keys);
  return node && getNodeValue(node);
}

/**
 * Sets the value at a path of keys, and creates the objects on the path. Comments and all other values stay. Throws
 * `invalid` for a text that is not JSON, and for a path through a value that is not an object.
 */
export function withValue(text: string, keys: readonly string[], value: unknown): string {
  const whole = text.trim() === '' ? '{}\n' : text;
  const found = find(whole, keys);
  if (found) return applyEdits(whole, [{ ...found, content: json(value, keys.length) }]);
  const depth = keys.findLastIndex((_, at) => find(whole, keys.slice(0, at)) !== undefined);
  const { offset, length, children = [] } = find(whole, keys.slice(0, depth)) as Node;
  const [key = '', ...deeper] = keys.slice(depth);
  const inner = deeper.reduceRight<unknown>((one, name) => ({ [name]: one }), value);
  const member = `${lineBreak(depth + 1)}${JSON.stringify(key)}: ${json(inner, depth + 1)}`;
  const isBlank = whole.slice(offset + 1, offset + length - 1).trim() === '';
  const [blank, after] = isBlank
    ? [length - 2, lineBreak(depth)]
    : [0, children.length > 0 ? ',' : ''];
  return applyEdits(whole, [{ offset: offset + 1, length: blank, content: member + after }]);
}

/** Removes the value at a path of keys, and the objects that are empty without it. */
export function withoutValue(text: string, keys: readonly string[]): string {
  const member = find(text, keys)?.parent;
  if (!member) return text;
  const rest = withoutMember(text, member);
  const around = keys.slice(0, -1);
  const outer = around.length === 0 ? undefined : find(rest, around);
  const isBare = outer && /^\{\s*\}$/.test(rest.slice(outer.offset, outer.offset + outer.length));
  return isBare ? withoutValue(rest, around) : rest;
}

/** Removes a member with its comma and the line break before it. */
function withoutMember(text: string, { offset, length, parent }: Node): string {
  const start = text.slice(0, offset).trimEnd().length;
  const end = offset + length;
  const commas: number[] = [];
  visit(text, { onSeparator: (character, at) => void (character === ',' && commas.push(at)) });
  const members = parent?.children ?? [];
  const at = members.findIndex((one) => one.offset === offset);
  const before = members[at - 1];
  const next = members[at + 1]?.offset ?? (parent ? parent.offset + parent.length : end);
  const comma =
    commas.find((one) => one >= end && one < next) ??
    (before && commas.find((one) => one >= before.offset + before.length && one < offset));
  return applyEdits(text, [
    { offset: start, length: end - start, content: '' },
    ...(comma === undefined ? [] : [{ offset: comma, length: 1, content: '' }]),
  ]);
}

function find(text: string, keys: readonly string[]): Node | undefined {
  const [error, root] = parsed(text);
  if (error)
    throw broken(text, error.offset, wanted[printParseErrorCode(error.error)] ?? 'a value');
  for (const depth of keys.keys()) {
    const node = root && findNodeAtLocation(root, keys.slice(0, depth));
    if (node && node.type !== 'object') throw broken(text, node.offset, 'an object');
  }
  return root && findNodeAtLocation(root, [...keys]);
}

function parsed(text: string): [error: ParseError | undefined, root: Node | undefined] {
  const errors: ParseError[] = [];
  const root = parseTree(text, errors, { allowTrailingComma: true });
  return [errors[0], root];
}

/** The expected parts by the errors of the parser. All other errors mean that a value is missing. */
const wanted: Readonly<Record<string, string>> = {
  PropertyNameExpected: 'a string',
  ColonExpected: 'a colon',
  CommaExpected: 'a comma',
  CloseBraceExpected: 'a closing brace',
  CloseBracketExpected: 'a closing bracket',
  EndOfFileExpected: 'the end of the file',
};

function json(value: unknown, depth: number): string {
  return JSON.stringify(value, null, 2).replaceAll('\n', lineBreak(depth));
}

function lineBreak(depth: number): string {
  return `\n${'  '.repeat(depth)}`;
}

function broken(text: string, at: number, expected: string): AppError {
  const line = text.slice(0, at).split('\n').length;
  return invalidError(`line ${line} is not JSON: expected ${expected}`);
}
