import type { Approval, Question } from '../api/approvals.ts';
import { AppError } from '../errors.ts';

type Answers = Readonly<Record<string, readonly string[]>>;

/**
 * Throws `invalid` unless `answers` fit the questions of an approval that is accepted. Each required question has to be
 * answered, and none twice. An answer is named by the id of its question, by its text or by its heading, where no other
 * question has the same. It holds at least one text, one only unless the question takes several, and nothing but the
 * question's options unless it is free.
 */
export function assertAnswers({ kind, questions }: Approval, answers: Answers | null): void {
  if (kind !== 'question') {
    if (Object.keys(answers ?? {}).length > 0)
      throw wrong('this approval asks no question: leave the answers out');
    return;
  }
  if (!answers) throw wrong(`a question is accepted with its answers${namesIn(questions)}`);
  for (const [name, given] of Object.entries(answers))
    if (given.length === 0) throw wrong(`"${name}" is answered by at least one text`);
  if (!questions?.length) {
    if (Object.keys(answers).length === 0) throw wrong('a question is accepted with its answers');
    return;
  }
  const answered = new Map<Question, readonly string[]>();
  for (const [name, given] of Object.entries(answers)) {
    const question = named(name, questions);
    if (!question) throw wrong(`there is no question "${name}"${namesIn(questions)}`);
    if (answered.has(question)) throw wrong(`"${question.id}" is answered twice: name it once`);
    assertFits(question, given);
    answered.set(question, given);
  }
  const missing = questions.filter((one) => one.required && !answered.has(one));
  if (missing.length > 0) throw wrong(`an answer is missing${namesIn(missing)}`);
}

function named(name: string, questions: readonly Question[]): Question | undefined {
  const exact =
    questions.find(({ id }) => id === name) ?? only(questions, (one) => one.question === name);
  return exact ?? only(questions, ({ header }) => header === name);
}

function only(
  questions: readonly Question[],
  is: (one: Question) => boolean,
): Question | undefined {
  const found = questions.filter(is);
  return found.length === 1 ? found[0] : undefined;
}

function assertFits(
  { id, type, multiple, options, free }: Question,
  given: readonly string[],
): void {
  if (!multiple && given.length > 1) throw wrong(`"${id}" takes one answer, not ${given.length}`);
  const labels = options.map(({ label }) => label);
  const strange = free ? undefined : given.find((one) => !labels.includes(one));
  if (strange !== undefined)
    throw wrong(`"${id}" has no option "${strange}"; it has: ${labels.join(', ')}`);
  const isNumber = (one: string) =>
    one.trim() !== '' && (type === 'integer' ? Number.isInteger : Number.isFinite)(Number(one));
  if (type !== 'text' && !given.every(isNumber))
    throw wrong(`"${id}" is answered by a number (${type})`);
}

function namesIn(questions: readonly Question[] | null | undefined): string {
  if (!questions?.length) return '';
  const names = questions.map(({ id, question }) =>
    id === question ? `"${id}"` : `"${id}" (${question})`,
  );
  return `; the questions: ${names.join(', ')}`;
}

function wrong(message: string): AppError {
  return new AppError('invalid', `body.answers: ${message}`);
}
