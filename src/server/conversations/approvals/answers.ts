import type { Approval, Question } from '../../../api/approvals.ts';
import { type AppError, invalidError } from '../../../api/errors.ts';

type Answers = Readonly<Record<string, readonly string[]>>;

/**
 * Throws `invalid` unless `answers` fit the questions of an approval that is accepted. Each required question must be
 * answered, and none twice. A key names a question by its id, or by its text or its heading if that is unique. Each
 * value holds at least one text; exactly one, unless the question is `multiple`; and only the question's options,
 * unless it is `free`.
 */
export function assertAnswers({ kind, questions }: Approval, answers: Answers | null): void {
  if (kind !== 'question') {
    if (Object.keys(answers ?? {}).length > 0)
      throw invalidAnswers('this approval has no questions: leave out the answers');
    return;
  }
  if (!answers) throw invalidAnswers(`accepting a question requires answers${namesIn(questions)}`);
  for (const [name, texts] of Object.entries(answers))
    if (texts.length === 0) throw invalidAnswers(`"${name}" requires at least one answer`);
  if (!questions?.length) {
    if (Object.keys(answers).length === 0)
      throw invalidAnswers('accepting a question requires answers');
    return;
  }
  const answered = new Map<Question, readonly string[]>();
  for (const [name, texts] of Object.entries(answers)) {
    const question = questionNamed(name, questions);
    if (!question) throw invalidAnswers(`there is no question "${name}"${namesIn(questions)}`);
    if (answered.has(question)) throw invalidAnswers(`"${question.id}" has two answers: send one`);
    assertFits(question, texts);
    answered.set(question, texts);
  }
  const missing = questions.filter((one) => one.required && !answered.has(one));
  if (missing.length > 0) throw invalidAnswers(`required answers are missing${namesIn(missing)}`);
}

function questionNamed(name: string, questions: readonly Question[]): Question | undefined {
  const exact =
    questions.find(({ id }) => id === name) ?? onlyMatch(questions, (one) => one.question === name);
  return exact ?? onlyMatch(questions, ({ header }) => header === name);
}

function onlyMatch(
  questions: readonly Question[],
  matches: (one: Question) => boolean,
): Question | undefined {
  const found = questions.filter(matches);
  return found.length === 1 ? found[0] : undefined;
}

function assertFits(
  { id, type, multiple, options, free }: Question,
  texts: readonly string[],
): void {
  if (!multiple && texts.length > 1)
    throw invalidAnswers(`"${id}" accepts one answer, not ${texts.length}`);
  const labels = options.map(({ label }) => label);
  const unknown = free ? undefined : texts.find((one) => !labels.includes(one));
  if (unknown !== undefined)
    throw invalidAnswers(`"${id}" has no option "${unknown}"; options: ${labels.join(', ')}`);
  const isNumber = (one: string) =>
    one.trim() !== '' && (type === 'integer' ? Number.isInteger : Number.isFinite)(Number(one));
  if (type !== 'text' && !texts.every(isNumber))
    throw invalidAnswers(`"${id}" requires a number (${type})`);
}

function namesIn(questions: readonly Question[] | null | undefined): string {
  if (!questions?.length) return '';
  const names = questions.map(({ id, question }) =>
    id === question ? `"${id}"` : `"${id}" (${question})`,
  );
  return `; questions: ${names.join(', ')}`;
}

function invalidAnswers(message: string): AppError {
  return invalidError(`body.answers: the answers are not valid: ${message}`);
}
