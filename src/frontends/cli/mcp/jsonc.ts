import {
  applyEdits,
  findNodeAtLocation,
  getNodeValue,
  modify,
  type Node,
  type ParseError,
  parseTree,
  printParseErrorCode,
  visit,
} from 'jsonc-parser';
import { AppError } from '../../../api/errors.ts';

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
  find(whole, keys);
  const formattingOptions = { insertSpaces: true, tabSize: 2, eol: '\n' };
  return applyEdits(whole, modify(whole, [...keys], value, { formattingOptions }));
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

/** Removes a member with its comma and the line break before it. `modify` would remove the comments around it, too. */
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

/** The node at a path of keys; undefined where there is none. */
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

/** What the parser expects where it finds an error; for all other errors, a value. */
const wanted: Readonly<Record<string, string>> = {
  PropertyNameExpected: 'a string',
  ColonExpected: 'a colon',
  CommaExpected: 'a comma',
  CloseBraceExpected: 'a closing brace',
  CloseBracketExpected: 'a closing bracket',
  EndOfFileExpected: 'the end of the file',
};

function broken(text: string, at: number, expected: string): AppError {
  const line = text.slice(0, at).split('\n').length;
  return new AppError('invalid', `line ${line} is not JSON: expected ${expected}`);
}
