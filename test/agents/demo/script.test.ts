import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { commands, type Command, parseScript } from '../../../src/agents/demo/script.ts';
import { formatScript } from './format-script.ts';
import { anyText } from '../../support/any-text.ts';

test.each<[string, Command[]]>([
  ['say hello  world', [{ name: 'say', text: 'hello  world' }]],
  ['think hard', [{ name: 'think', text: 'hard' }]],
  ['tool read a', [{ name: 'tool', title: 'read a', output: undefined }]],
  ['tool read a => b => c', [{ name: 'tool', title: 'read a', output: 'b => c' }]],
  ['tool run: ls =>', [{ name: 'tool', title: 'run: ls', output: undefined }]],
  ['ask deploy', [{ name: 'ask', title: 'deploy' }]],
  ['ask-all run: a | b', [{ name: 'ask-all', titles: ['run: a', 'b'] }]],
  ['edit a/b => x', [{ name: 'edit', path: 'a/b', text: 'x' }]],
  ['edit a =>', [{ name: 'edit', path: 'a', text: '' }]],
  ['plan A | B|C', [{ name: 'plan', entries: ['A', 'B', 'C'] }]],
  ['usage 10 200', [{ name: 'usage', used: 10, size: 200 }]],
  ['wait 5', [{ name: 'wait', ms: 5 }]],
  ['spawn 5', [{ name: 'spawn', ms: 5 }]],
  ['repeat 3 10 a b', [{ name: 'repeat', count: 3, ms: 10, text: 'a b' }]],
  ['flood 9', [{ name: 'flood', count: 9, bytes: 64 }]],
  ['flood 9 10', [{ name: 'flood', count: 9, bytes: 10 }]],
  ['longline 7', [{ name: 'longline', bytes: 7 }]],
  ['env HOME', [{ name: 'env', variable: 'HOME' }]],
  ['crash', [{ name: 'crash', code: 1 }]],
  ['crash 3', [{ name: 'crash', code: 3 }]],
  ['fail too bad', [{ name: 'fail', text: 'too bad' }]],
  ['late hi', [{ name: 'late', text: 'hi' }]],
])('The prompt "%s" is read as a command.', (prompt, expected) => {
  expect(parseScript(prompt)).toEqual(expected);
});

test.each([
  'image',
  'history',
  'pid',
  'cwd',
  'mode',
  'ignore-cancel',
  'garbage',
  'silent',
] as const)('The prompt "%s" is read as a command only if it has no arguments.', (name) => {
  expect(parseScript(name)).toEqual([{ name }]);
  expect(parseScript(`${name} please`)).toEqual([]);
});

test('Line breaks and semicolons separate commands, and blanks around a command are ignored.', () => {
  expect(parseScript('\n  say a ;pid\r\n\tcwd;;')).toEqual([
    { name: 'say', text: 'a' },
    { name: 'pid' },
    { name: 'cwd' },
  ]);
});

test('An escaped semicolon is a part of the text.', () => {
  expect(parseScript('say a\\; b; pid')).toEqual([{ name: 'say', text: 'a; b' }, { name: 'pid' }]);
});

test('Lines that are not commands are skipped.', () => {
  expect(parseScript('Message from lead:\nsay pong\nThank you!')).toEqual([
    { name: 'say', text: 'pong' },
  ]);
});

test.each([
  'wait for me',
  'wait',
  'wait -1',
  'wait 1.5',
  'wait 2147483648',
  'say',
  'Say hello',
  'sayhello',
  'plan A || B',
  'ask-all deploy',
  'edit the file',
  'usage 1',
  'flood 1 2 3',
  'repeat 1 2',
  'crash now',
  'env A B',
  'tool => b',
  'constructor x',
  '__proto__',
  '',
])('The prompt "%s" is not read as a command.', (prompt) => {
  expect(parseScript(prompt)).toEqual([]);
});

test('A script that is formatted from commands is read as the same commands.', () => {
  fc.assert(
    fc.property(fc.array(anyCommand), (script) => {
      expect(parseScript(formatScript(script))).toEqual(script);
    }),
  );
});

test('The script parser never throws, whatever the prompt is.', () => {
  const word = fc.constantFrom(...Object.keys(commands), ';', '\\', '\n', '|', '=>', ' ', '7');
  fc.assert(fc.property(fc.array(word), (words) => void parseScript(words.join(' '))));
  fc.assert(fc.property(anyText(), (prompt) => void parseScript(prompt)));
});

const text = anyText({ minLength: 1 })
  .map((value) => value.replaceAll(/[\r\n]/gu, '').trim())
  .filter((value) => value !== '');
const title = text.filter((value) => !value.includes('=>'));
const entry = text.filter((value) => !value.includes('|'));
const number = fc.nat();

const anyCommand: fc.Arbitrary<Command> = fc.oneof(
  fc.record({ name: fc.constantFrom('say', 'think', 'fail', 'late', 'title', 'notice'), text }),
  fc.record({ name: fc.constant('tool'), title, output: fc.option(text, { nil: undefined }) }),
  fc.record({ name: fc.constant('ask'), title: text }),
  fc.record({ name: fc.constant('ask-all'), titles: fc.array(entry, { minLength: 2 }) }),
  fc.record({ name: fc.constant('edit'), path: title, text }),
  fc.record({
    name: fc.constantFrom('plan', 'commands', 'question'),
    entries: fc.array(entry, { minLength: 1 }),
  }),
  fc.record({ name: fc.constant('usage'), used: number, size: number }),
  fc.record({ name: fc.constantFrom('wait', 'spawn'), ms: number }),
  fc.record({ name: fc.constant('repeat'), count: number, ms: number, text }),
  fc.record({ name: fc.constant('flood'), count: number, bytes: number }),
  fc.record({ name: fc.constant('longline'), bytes: number }),
  fc.record({ name: fc.constant('crash'), code: number }),
  fc.record({ name: fc.constant('env'), variable: fc.stringMatching(/^\w+$/u) }),
  fc.record({ name: fc.constantFrom('image', 'history', 'pid', 'cwd', 'mode') }),
  fc.record({ name: fc.constantFrom('ignore-cancel', 'garbage', 'silent') }),
);
