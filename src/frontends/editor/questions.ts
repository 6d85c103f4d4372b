import type {
  CreateElicitationResponse,
  ElicitationPropertySchema,
  ElicitationSchema,
  PermissionOption,
} from '@agentclientprotocol/sdk/unstable';
import type { Approval, Question } from '../../api/approvals.ts';
import { type Decision, reject } from './permission.ts';

/** The form for the questions of an approval, for an editor that shows forms. */
export function formOf(questions: readonly Question[]): ElicitationSchema {
  const fields = questions.flatMap(fieldsOf);
  return {
    type: 'object',
    properties: Object.fromEntries(fields),
    // One that can be answered by a text of one's own has two fields, of which one is enough.
    required: questions.filter((one) => one.required && !hasOther(one)).map(({ id }) => id),
  };
}

/** What is asked, in words: the questions with their options. */
export function questionsText({ title, questions }: Approval): string {
  const asked = (questions ?? []).map((one) =>
    [
      one.header === null ? one.question : `${one.header}: ${one.question}`,
      ...one.options.map(({ label, description }) =>
        description === null ? `- ${label}` : `- ${label}: ${description}`,
      ),
    ].join('\n'),
  );
  return asked.length > 0 ? asked.join('\n\n') : title;
}

/** The decision that a form means. */
export function decisionOfForm(
  answer: CreateElicitationResponse,
  questions: readonly Question[],
): Decision {
  if (answer.action !== 'accept') {
    const reason = answer.action === 'decline' ? null : 'the editor dismissed the question';
    return { decision: 'decline', ...(reason === null ? {} : { reason }) };
  }
  const content = (answer.content ?? {}) as Readonly<Record<string, unknown>>;
  const answers = questions.map((one): [string, string[]] => {
    const own = textsOf(content[otherId(one)]);
    const chosen = textsOf(content[one.id]);
    return [one.id, own.length > 0 && !one.multiple ? own : [...chosen, ...own]];
  });
  const answered = answers.filter(([, texts]) => texts.length > 0);
  return { decision: 'accept', answers: Object.fromEntries(answered) };
}

/** The answers that an editor without forms can offer: those of a single question with options; else only to decline. */
export function permissionOptionsOf(questions: readonly Question[]): PermissionOption[] {
  const [only, ...others] = questions;
  const choices = only && others.length === 0 && !only.multiple ? only.options : [];
  return [
    ...choices.map(({ label }, at): PermissionOption => ({
      optionId: `answer-${at}`,
      name: label,
      kind: 'allow_once',
    })),
    reject,
  ];
}

/** The decision that one of these answers means. */
export function decisionOfChoice(optionId: string, [only]: readonly Question[]): Decision {
  const [, at] = /^answer-(\d+)$/.exec(optionId) ?? [];
  const label = only?.options[Number(at ?? -1)]?.label;
  if (!only || label === undefined) return { decision: 'decline' };
  return { decision: 'accept', answers: { [only.id]: [label] } };
}

function fieldsOf(question: Question): [string, ElicitationPropertySchema][] {
  const { id, header, question: text, options, type } = question;
  const about = { title: header ?? text, description: text };
  if (options.length === 0)
    return [[id, type === 'text' ? { type: 'string', ...about } : { type, ...about }]];
  const labels = options.map(({ label, description }) => ({
    const: label,
    title: label,
    description,
  }));
  const choice: ElicitationPropertySchema = question.multiple
    ? { type: 'array', items: { anyOf: labels }, ...about }
    : { type: 'string', oneOf: labels, ...about };
  if (!hasOther(question)) return [[id, choice]];
  const other = { type: 'string' as const, title: 'Another answer', description: text };
  return [
    [id, choice],
    [otherId(question), other],
  ];
}

function hasOther({ options, free }: Question): boolean {
  return free && options.length > 0;
}

function otherId({ id }: Question): string {
  return `${id}_other`;
}

function textsOf(value: unknown): string[] {
  return [value]
    .flat()
    .filter((one) => one !== undefined && one !== null)
    .map((one) => (typeof one === 'string' ? one : JSON.stringify(one)))
    .filter((text) => text.trim() !== '');
}
