// Finds the texts for readers in a source file: help, messages of errors, descriptions of schemas, comments, titles of tests
// and names of their groups.
import { parseSync } from 'oxc-parser';
import type { Text } from './habits.ts';

type Kind = Text['kind'];

interface Node {
  type: string;
  start: number;
  [key: string]: unknown;
}

const inHelp = 'src/frontends/cli/';
const inSchemas = ['src/api/', 'src/core/config/'];

/** The arguments that these files pass to programs of others look like help. */
const runsPrograms = /\/(?:service|mcp)\//;

/** The methods of commander that take a text, and the position of the text. */
const helpMethods = new Map([
  ['description', 0],
  ['summary', 0],
  ['argument', 1],
  ['helpOption', 1],
  ['version', 2],
  ['addHelpText', 1],
]);

export function textsOfSource(file: string, source: string): Text[] {
  const { program, comments } = parseSync(file, source);
  const lineOf = lineFinder(source);
  const texts = new Map<number, Text>();
  const covered = new Set<number>();
  const constants = new Map<string, unknown>();
  visit(program, ({ type, id, init }) => {
    if (type === 'VariableDeclarator' && stringsOf(init).length > 0)
      constants.set(nameOf(id), init);
  });
  const add: Add = (kind, value, isLabel = false) => {
    const name = isNode(value) && value.type === 'Identifier' ? nameOf(value) : '';
    for (const { text, start } of stringsOf(constants.get(name) ?? value)) {
      covered.add(start);
      if (!/\p{L}{2}/u.test(text) || texts.get(start)?.isLabel === true) continue;
      const found = { kind, file, line: lineOf(start), text };
      texts.set(start, isLabel ? { ...found, isLabel } : found);
    }
  };
  if (file.startsWith('test/')) visit(program, (node) => titles(node, add));
  if (file.startsWith('src/')) {
    visit(program, (node) => {
      if (file.startsWith(inHelp) && !runsPrograms.test(file)) help(node, add);
      if (inSchemas.some((folder) => file.startsWith(folder))) schemas(node, add);
      errors(node, add);
    });
    visit(program, (node) => {
      if (!covered.has(node.start)) messages(node, add);
    });
  }
  const ofComments = commentsOf(source, comments);
  return [
    ...texts.values(),
    ...ofComments.map(({ text, start }): Text => ({
      kind: 'comments',
      file,
      line: lineOf(start),
      text,
    })),
  ];
}

type Add = (kind: Kind, value: unknown, isLabel?: boolean) => void;

function help(node: Node, add: Add): void {
  const args = listOf(node.arguments);
  if (node.type === 'CallExpression') {
    const name = nameOf(node.callee);
    const at = helpMethods.get(name);
    if (at !== undefined && isNode(node.callee) && node.callee.type === 'MemberExpression')
      add('help', args[at], name !== 'addHelpText');
    // Our own functions for commands, arguments and options: a name is one word.
    if (/(?:Group|Command|Argument|Option)$/.test(name) && name !== 'idArgument')
      for (const arg of args) if (stringsOf(arg)[0]?.text.includes(' ')) add('help', arg, true);
  }
  if (node.type === 'Property' && nameOf(node.key) === 'description') add('help', node.value, true);
  if (node.type === 'Property' && ['empty', 'help'].includes(nameOf(node.key)))
    add('help', node.value);
  // The line of an argument or option: a text follows its flags.
  const [line] = node.type === 'Literal' || node.type === 'TemplateLiteral' ? stringsOf(node) : [];
  const [, about] = /^(?:--?\w|<|\[).*? {2}(.*)$/s.exec(line?.text ?? '') ?? [];
  if (about !== undefined) add('help', { ...node, type: 'Literal', value: about }, true);
  // In the list of examples, a text follows the command line.
  if (node.type === 'VariableDeclarator' && nameOf(node.id) === 'exampleTexts')
    visit(node, (below) => {
      if (below.type === 'Literal') add('help', { ...below, value: exampleText(below.value) });
    });
}

function exampleText(value: unknown): string {
  return String(value).split(' # ')[1] ?? '';
}

/** The method of a schema and the functions of `api/common.ts` that describe a field, and the position of the text. */
const describing = new Map([
  ['describe', 0],
  ['text', 0],
  ['flag', 0],
  ['nullableText', 0],
  ['optionalText', 0],
  ['optionalName', 0],
  ['optionalFlag', 0],
  ['integer', 0],
  ['nullableInteger', 0],
  ['nullableTime', 0],
  ['component', 1],
]);

function schemas(node: Node, add: Add): void {
  const at = node.type === 'CallExpression' ? describing.get(nameOf(node.callee)) : undefined;
  if (at !== undefined) add('schema', listOf(node.arguments)[at]);
  if (node.type === 'Property' && ['description', 'summary', 'when'].includes(nameOf(node.key)))
    add('schema', node.value);
}

function errors(node: Node, add: Add): void {
  const isCall = node.type === 'NewExpression' || node.type === 'CallExpression';
  if (isCall && nameOf(node.callee).endsWith('Error'))
    for (const argument of listOf(node.arguments))
      if (stringsOf(argument).some(({ text }) => text.includes(' '))) add('errors', argument);
  if (node.type === 'Property' && ['message', 'reason'].includes(nameOf(node.key)))
    if (stringsOf(node.value).some(({ text }) => text.includes(' '))) add('errors', node.value);
}

/** Any other text of several words: results, notes, lines of the log, words of the screen, parts of errors. */
function messages(node: Node, add: Add): void {
  const isText = ['Literal', 'TemplateLiteral', 'JSXText'].includes(node.type);
  const text = isText ? (stringsOf(node)[0]?.text ?? '') : '';
  const isSql = /\b(?:SELECT|INSERT|UPDATE|DELETE|CREATE|FROM|WHERE|PRAGMA)\b/.test(text);
  if ((text.match(/\p{Ll}{2}/gu) ?? []).length > 2 && text.trim().includes(' ') && !isSql)
    add('messages', node);
}

function titles(node: Node, add: Add): void {
  if (node.type !== 'CallExpression') return;
  const [title] = listOf(node.arguments);
  let { callee } = node;
  if (/^(?:each|for|skipIf|runIf)$/.test(nameOf(callee))) return;
  // `test.skipIf(reason).each(table)('title', …)`
  while (isNode(callee) && /^(?:Call|Member)Expression$/.test(callee.type))
    callee = callee.type === 'CallExpression' ? callee.callee : callee.object;
  const name = nameOf(callee);
  if (name === 'describe') add('groups', title);
  if (name === 'test' || name === 'it') add('titles', title);
}

/**
 * The strings that an expression may have as its value. Each value in a string is `…`; a string that continues another
 * begins with that.
 */
function stringsOf(value: unknown): { text: string; start: number }[] {
  if (!isNode(value)) return [];
  const { start } = value;
  switch (value.type) {
    case 'Literal':
    case 'JSXText':
      return typeof value.value === 'string' ? [{ text: continued(value.value), start }] : [];
    case 'TemplateLiteral': {
      const parts = listOf(value.expressions).flatMap(stringsOf);
      return [
        { text: continued(listOf(value.quasis).map(cooked).join('…')), start },
        ...parts.map((part) => ({ ...part, text: `…${part.text}` })),
      ];
    }
    case 'ConditionalExpression':
      return [...stringsOf(value.consequent), ...stringsOf(value.alternate)];
    case 'LogicalExpression':
      return [...stringsOf(value.left), ...stringsOf(value.right)];
    case 'BinaryExpression': {
      if (value.operator !== '+') return [];
      const [left, right] = [stringsOf(value.left), stringsOf(value.right)];
      const first = left[0]?.text ?? '…';
      const next = right[0]?.text.replace(/^…(?=[\s,;:.)])/, '') ?? '…';
      return [
        { text: `${first}${next}`, start: left[0]?.start ?? start },
        ...left.slice(1),
        // The first text on the right is already part of the whole.
        ...right.map((part, at) => ({ ...part, text: at === 0 ? '' : `…${part.text}` })),
      ];
    }
    case 'ArrowFunctionExpression':
      return stringsOf(value.body);
    case 'TSAsExpression':
      return stringsOf(value.expression);
    default:
      return [];
  }
}

/** Blanks before a text show that it continues another one. */
function continued(text: string): string {
  return /^[\s,;:.)]/.test(text) ? `…${text}` : text;
}

function cooked(quasi: unknown): string {
  return ((quasi as Node).value as { cooked: string }).cooked;
}

interface Comment {
  type: 'Line' | 'Block';
  value: string;
  start: number;
  end: number;
}

/** The comments of a file as texts: consecutive lines are one text. Directives of tools are left out. */
function commentsOf(
  source: string,
  comments: readonly Comment[],
): { text: string; start: number }[] {
  const texts: { text: string; start: number; end: number }[] = [];
  for (const { type, value, start, end } of comments) {
    if (/^\s*(?:oxlint-|eslint-|@ts-|#region|v8 )/.test(value)) continue;
    const text = value.replaceAll(/^\s*\*+ ?/gm, '').trim();
    const last = texts.at(-1);
    const isNext = type === 'Line' && last && /^\n[ \t]*$/.test(source.slice(last.end, start));
    if (isNext) Object.assign(last, { text: `${last.text}\n${text}`, end });
    else texts.push({ text, start, end });
  }
  return texts;
}

function visit(node: unknown, act: (node: Node) => void): void {
  if (Array.isArray(node)) for (const one of node) visit(one, act);
  if (!isNode(node)) return;
  act(node);
  for (const value of Object.values(node)) if (typeof value === 'object') visit(value, act);
}

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && 'type' in value;
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** The name of an identifier, of the property of a member, or of a key; empty for anything else. */
function nameOf(value: unknown): string {
  if (!isNode(value)) return '';
  if (value.type === 'MemberExpression') return nameOf(value.property);
  const name = value.type === 'Literal' ? value.value : value.name;
  return typeof name === 'string' ? name : '';
}

/** Returns a function from a position to its line, for positions in any order. */
function lineFinder(source: string): (position: number) => number {
  const starts = [0, ...[...source.matchAll(/\n/g)].map(({ index }) => index + 1)];
  return (position) => {
    const after = starts.findIndex((start) => start > position);
    return after === -1 ? starts.length : after;
  };
}
