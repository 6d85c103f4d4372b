import { expect, test } from 'vitest';
import type { Question } from '../../../../src/api/approvals.ts';
import { assertAnswers } from '../../../../src/server/conversations/approvals/approval.ts';
import { anApproval } from '../../../support/records.ts';

const q = (id: string, more: Partial<Question> = {}): Question => ({
  id,
  question: `${id}?`,
  header: null,
  options: [],
  free: true,
  multiple: false,
  required: true,
  type: 'text',
  ...more,
});
const labels = (...all: string[]) => all.map((label) => ({ label, description: null }));

const questions = [
  q('colour', { header: 'Look', options: labels('red', 'blue'), free: false }),
  q('sizes', { header: 'Look', multiple: true }),
  q('count', { header: 'How many', type: 'integer', required: false }),
];
const good = { colour: ['red'], sizes: ['s', 'm'] };
const accept = (
  answers: Record<string, string[]> | null,
  kind: 'question' | 'command' = 'question',
) => assertAnswers(anApproval({ kind, questions }), answers);

test.for([
  ['by their ids', good],
  ['by their texts', { 'colour?': ['red'], 'sizes?': ['s'] }],
  ['with what is not required, by its heading', { ...good, 'How many': ['3'] }],
] as const)('Answers to a question are accepted %s.', ([, answers]) => {
  expect(() => accept(answers as unknown as Record<string, string[]>)).not.toThrow();
});

test.for([
  ['no answers', null, '"colour" (colour?)'],
  [
    'an empty object',
    {},
    'required answers are missing; questions: "colour" (colour?), "sizes" (sizes?)',
  ],
  ['one that is missing', { colour: ['red'] }, 'required answers are missing; questions: "sizes"'],
  ['a name of none', { ...good, taste: ['sweet'] }, 'there is no question "taste"'],
  ['a name of an object', { ...good, constructor: ['x'] }, 'there is no question "constructor"'],
  ['a heading of two', { ...good, Look: ['red'] }, 'there is no question "Look"'],
  ['an empty list', { ...good, sizes: [] }, '"sizes" requires at least one answer'],
  [
    'an empty list for what is not required',
    { ...good, count: [] },
    '"count" requires at least one answer',
  ],
  [
    'two where one is taken',
    { ...good, colour: ['red', 'blue'] },
    '"colour" accepts one answer, not 2',
  ],
  ['what is no option', { ...good, colour: ['green'] }, 'options: red, blue'],
  ['no number', { ...good, count: ['many'] }, '"count" requires a number'],
  ['a number that is not whole', { ...good, count: ['1.5'] }, '"count" requires a number'],
  ['one question under two names', { ...good, 'colour?': ['red'] }, '"colour" has two answers'],
] as const)('Answers to a question are refused if there is %s.', ([, answers, message]) => {
  expect(() => accept(answers as unknown as Record<string, string[]>)).toThrow(message);
});

test('Answers may have any names if the agent does not describe its questions in parts.', () => {
  const plain = anApproval({ kind: 'question' });
  assertAnswers(plain, { anything: ['goes'] });
  expect(() => assertAnswers(plain, {})).toThrow('requires answers');
  expect(() => assertAnswers(plain, { anything: [] })).toThrow('at least one answer');
});

test('Answers to a question that was not asked are refused.', () => {
  accept(null, 'command');
  accept({}, 'command');
  expect(() => accept({ colour: ['red'] }, 'command')).toThrow('has no questions');
});
