import type { ApprovalInEvents } from '../../../api/event-kinds/items.ts';
import type { Approval, ApprovalScope, Question } from '../../../api/approvals.ts';
import { AppError, invalidError } from '../../../api/errors.ts';
import type { AgentAnswer } from '../../../agents/provider.ts';

/** The end of a pending approval: a person's decision, its timeout or its cancellation. */
export type Resolution =
  | {
      status: 'accepted' | 'declined';
      /** Absent where it was declined. */
      scope?: ApprovalScope | undefined;
      decidedBy: string;
      reason: string | null;
      answers: Record<string, string[]> | null;
    }
  | { status: 'expired' | 'cancelled'; reason: string | null };

/** Returns the resolved approval. The first answer wins: throws `approval_resolved` for any later one. */
export function resolveApproval(approval: Approval, resolution: Resolution, now: number): Approval {
  if (approval.status !== 'pending') {
    throw new AppError(
      'approval_resolved',
      `approval ${approval.id} is already ${approval.status}: only the first answer counts`,
    );
  }
  const { status, reason } = resolution;
  return {
    ...approval,
    status,
    decision: status === 'accepted' ? 'accept' : status === 'cancelled' ? null : 'decline',
    scope: status === 'accepted' ? (resolution.scope ?? 'once') : null,
    decided_by: 'decidedBy' in resolution ? resolution.decidedBy : null,
    reason,
    answers: 'answers' in resolution ? resolution.answers : null,
    resolved_at: now,
  };
}

export function decisionOf(word: string): 'accepted' | 'declined' {
  return word.startsWith('accept') ? 'accepted' : 'declined';
}

/** Throws `invalid` if the agent does not offer that an approval is accepted for the scope. */
export function assertOffered({ scopes }: Approval, scope: ApprovalScope): void {
  if (scopes.includes(scope)) return;
  const [only] = scopes;
  const way = only === undefined ? 'decline it' : `accept it with scope "${only}", or decline it`;
  throw invalidError(
    `body.scope: the agent does not offer scope "${scope}" for this approval: ${way}`,
  );
}

/** Returns the approval for events after `approval.requested`, without the fields that may be large. */
export function approvalInEvents(approval: Approval): ApprovalInEvents {
  const { request: _request, subject: _subject, details: _details, ...rest } = approval;
  return rest;
}

/** Returns the approval as retention leaves it: without the fields that may be large. */
export function withoutContent(approval: Approval): Approval {
  return { ...approval, request: null, subject: null, details: [], questions: null };
}

export function answerOf(approval: Approval): AgentAnswer {
  const { status, answers, reason, scope } = approval;
  if (status === 'accepted') return { decision: 'accept', scope: scope ?? 'once', answers };
  if (status === 'cancelled') return { decision: 'cancelled' };
  return {
    decision: 'decline',
    reason: reason ?? (status === 'expired' ? 'nobody answered in time' : null),
  };
}

/** Returns the prompt for an agent that resumes a turn: no provider can answer a request of a process that has died. */
export function continuationPrompt(accepted: readonly Approval[]): string {
  const requests = accepted.map(
    ({ title, request, answers }) =>
      `${title}\n${JSON.stringify(request)}${answers ? `\nanswers: ${JSON.stringify(answers)}` : ''}`,
  );
  return ['The request below was approved while you were not running. Continue.', ...requests].join(
    '\n\n',
  );
}

export const unanswered = {
  answers: null,
  held: false,
  status: 'pending',
  decision: null,
  scope: null,
  decided_by: null,
  reason: null,
} as const;

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
