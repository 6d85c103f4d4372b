import { z } from 'zod';
import type { Question } from '../../api/approvals.ts';
import { cutTitle } from '../../core/lib/cut-title.ts';
import type { AttachedRequest } from '../attached-turn.ts';
import type { AgentAnswer, AgentRequest, AgentSink } from '../provider.ts';
import { type Answers, answerTo, inputDetails } from '../details.ts';
import { arrayOf, idText, isBlank, maybe, maybeText } from '../lenient.ts';
import type { ReportedCall } from './reported-call.ts';
import type { LoginPage } from '../../api/agent-logins.ts';
import { excessOf } from '../json-connection.ts';
import { tooLargeRequest } from '../budget.ts';
import type { AskedRequest } from '../output-lines.ts';
import { valueText } from '../../core/lib/value-text.ts';

interface Dependencies {
  sink: AgentSink;
  /** Whether a turn runs whose requests go to people. */
  isAsking: () => boolean;
  /** Whether the turn is interrupted. */
  isCancelled: () => boolean;
  /** Returns the known fields of a tool call of the turn. */
  callOf: (ref: string) => ReportedCall | undefined;
  /** Shows a page outside a turn, such as the page of a login. */
  onPage: ((page: LoginPage) => void) | undefined;
}

/** Shows the questions of an agent to users. */
export class Elicitations {
  readonly #deps: Dependencies;
  /** The pages that somebody is to open, by the agent's ids; aborting one withdraws the question. */
  readonly #pages = new Map<string, AbortController>();

  constructor(deps: Dependencies) {
    this.#deps = deps;
  }

  /** Asks and answers in the protocol's words. Outside a turn, and where nobody is asked, the question is declined. */
  async ask(params: unknown, { line, key, withdrawn, hold }: AskedRequest): Promise<object> {
    const asked = readElicitation(params);
    if (!asked) return { action: 'decline' };
    const { onPage } = this.#deps;
    if (onPage && isPage(asked)) {
      onPage({ message: asked.message, url: asked.url });
      return { action: 'accept' };
    }
    const excess = excessOf(params);
    if (excess) {
      await line.update({ type: 'notice', ...tooLargeRequest(excess) });
      return { action: 'decline' };
    }
    if (!this.#deps.isAsking()) return this.#decline(asked, line);
    const call = asked.toolCallId ? this.#deps.callOf(asked.toolCallId) : undefined;
    const request = elicitationRequest(asked, params, call);
    return this.#untilAnswered(asked, withdrawn, (signal) =>
      this.#deps.sink.ask(request, signal, { key, hold }),
    );
  }

  /** Waits for the answer to a question of an earlier server's time. */
  async askAgain({ request, answer }: AttachedRequest, withdrawn: AbortSignal): Promise<object> {
    const asked = readElicitation(request);
    if (!asked) return { action: 'decline' };
    let isDone = false;
    const answered = await this.#untilAnswered(asked, withdrawn, async (signal) => {
      const one = await answer(signal);
      // Nothing else cancels the question: the purpose of the page is fulfilled.
      isDone = one.decision === 'cancelled' && isPage(asked) && !this.#deps.isCancelled();
      return one;
    });
    return isDone ? { action: 'accept' } : answered;
  }

  async #untilAnswered(
    asked: Elicitation,
    withdrawn: AbortSignal,
    ask: (withdrawn: AbortSignal) => Promise<AgentAnswer>,
  ): Promise<object> {
    const pageId = isPage(asked) ? asked.elicitationId : null;
    const done = new AbortController();
    if (pageId !== null) this.#pages.set(pageId, done);
    try {
      const answer = await ask(AbortSignal.any([withdrawn, done.signal]));
      return done.signal.aborted ? { action: 'accept' } : elicitationAnswer(asked, answer);
    } finally {
      if (pageId !== null) this.#pages.delete(pageId);
    }
  }

  /** Ends the question of a page whose purpose is fulfilled, so that nobody has to answer it. */
  done(params: unknown): void {
    const { elicitationId: id } = completed.safeParse(params).data ?? {};
    if (id !== undefined) this.#pages.get(id)?.abort();
  }

  async #decline({ message }: Elicitation, line: AskedRequest['line']): Promise<object> {
    await line.update({ type: 'declined_unasked' });
    await line.update({
      type: 'notice',
      code: 'question_declined',
      message: `cadre declined a question of the agent (${message}): to answer questions of the agent, send the turn with permission_mode "require_approval"`,
    });
    return { action: 'decline' };
  }
}

const completed = z.looseObject({ elicitationId: z.string() });

const limit = maybe(z.number());
const option = z.looseObject({ const: z.string(), title: maybeText, description: maybeText });
const options = maybe(arrayOf(option));
const values = maybe(z.array(z.string()));

const field = z.looseObject({
  type: z.string().catch('string'),
  title: maybeText,
  description: maybeText,
  default: z.unknown().optional(),
  enum: values,
  oneOf: options,
  anyOf: options,
  items: maybe(z.looseObject({ enum: values, anyOf: options, oneOf: options })),
  format: maybeText,
  pattern: maybeText,
  minLength: limit,
  maxLength: limit,
  minimum: limit,
  maximum: limit,
  minItems: limit,
  maxItems: limit,
});
type Field = z.output<typeof field>;

const about = {
  message: z.string().catch('the agent has a question'),
  toolCallId: maybe(idText),
};
const form = z.looseObject({
  ...about,
  mode: z.literal('form').optional(),
  requestedSchema: z.looseObject({
    title: maybeText,
    description: maybeText,
    // A field that cannot be read is a text.
    properties: z.record(z.string(), field.catch(field.parse({}))).catch({}),
    required: maybe(z.array(z.string())),
  }),
});
const page = z.looseObject({
  ...about,
  mode: z.literal('url'),
  url: z.string(),
  elicitationId: z.string().catch(''),
});

/** A question of an agent: a form with fields, or a page that a person is to open. */
type Elicitation = z.output<typeof form> | z.output<typeof page>;

/** Reads an `elicitation/create`; null for a mode that cadre does not know. */
export function readElicitation(params: unknown): Elicitation | null {
  return page.safeParse(params).data ?? form.safeParse(params).data ?? null;
}

/** The approval of a question. `call`: what is known of the tool call that it is about. */
export function elicitationRequest(
  asked: Elicitation,
  raw: unknown,
  call: ReportedCall | undefined,
): AgentRequest {
  const questions = questionsOf(asked);
  const schema = isPage(asked) ? null : asked.requestedSchema;
  return {
    kind: 'question',
    title: cutTitle(isPage(asked) ? `${asked.message} ${asked.url}` : asked.message),
    request: raw,
    details: inputDetails({
      message: asked.message,
      url: isPage(asked) ? asked.url : null,
      form: schema?.title,
      description: schema?.description,
    }),
    questions,
    subject: subjectOf(asked, call),
  };
}

function elicitationAnswer(asked: Elicitation, answer: AgentAnswer): object {
  if (answer.decision !== 'accept')
    return { action: answer.decision === 'cancelled' ? 'cancel' : answer.decision };
  return isPage(asked)
    ? { action: 'accept' }
    : { action: 'accept', content: contentFor(asked, answer.answers ?? {}) };
}

function isPage(asked: Elicitation): asked is z.output<typeof page> {
  return asked.mode === 'url';
}

/**
 * A question alone does not say for what its answer is used: only with the whole input of its call is it the same as
 * another one.
 */
function subjectOf(asked: Elicitation, call: ReportedCall | undefined): unknown {
  const { rawInput: input, kind = null, title = null } = call ?? {};
  if (isPage(asked) || typeof input !== 'object' || isBlank(input)) return null;
  return { message: asked.message, schema: asked.requestedSchema, kind, title, input };
}

function questionsOf(asked: Elicitation): Question[] {
  if (isPage(asked)) return [confirmation('page', `open ${asked.url}`, 'opened', asked.url)];
  const { properties } = asked.requestedSchema;
  const required = new Set(asked.requestedSchema.required);
  // A form without fields asks for consent alone.
  if (Object.keys(properties).length === 0)
    return [confirmation('consent', asked.message, 'yes', null)];
  return Object.entries(properties).map(([id, one]) => {
    const labels = choicesOf(one);
    return {
      id,
      question: questionFor(id, one),
      header: one.title,
      options: labels.map(({ label, description }) => ({ label, description })),
      free: labels.length === 0,
      multiple: one.type === 'array',
      required: required.has(id) && !hasDefault(one),
      type: one.type === 'number' || one.type === 'integer' ? one.type : 'text',
    };
  });
}

/** A question that needs no answer: to accept is to agree. */
function confirmation(
  id: string,
  question: string,
  label: string,
  description: string | null,
): Question {
  const options = [{ label, description }];
  const shape = { header: null, free: false, multiple: false, required: false };
  return { id, question, options, ...shape, type: 'text' };
}

interface Choice {
  label: string;
  description: string | null;
  value: string | boolean;
}

/** Returns the choices of a field, each with its own label. */
function choicesOf({ type, enum: plain, oneOf, anyOf, items }: Field): Choice[] {
  if (type === 'boolean')
    return [
      { label: 'yes', description: null, value: true },
      { label: 'no', description: null, value: false },
    ];
  const titled = oneOf ?? anyOf ?? items?.anyOf ?? items?.oneOf;
  if (!titled?.length)
    return (plain ?? items?.enum ?? []).map((value) => {
      return { label: value, description: null, value };
    });
  const times = new Map<string, number>();
  for (const one of titled) times.set(titleOf(one), (times.get(titleOf(one)) ?? 0) + 1);
  return titled.map((one) => {
    const title = titleOf(one);
    const label = times.get(title) === 1 ? title : `${title} (${one.const})`;
    return { label, description: one.description, value: one.const };
  });
}

function titleOf({ title, const: value }: z.output<typeof option>): string {
  return title || value;
}

/** The text of a field as a question, with its limits and its default. */
function questionFor(id: string, one: Field): string {
  const at = (which: 'least' | 'most', bound: number | null, unit = '') =>
    bound === null ? null : `at ${which} ${bound}${unit}`;
  const limits = [
    one.format,
    at('least', one.minLength, ' characters'),
    at('most', one.maxLength, ' characters'),
    at('least', one.minimum),
    at('most', one.maximum),
    at('least', one.minItems, ' answers'),
    at('most', one.maxItems, ' answers'),
    one.pattern && `matching ${one.pattern}`,
    hasDefault(one) && `default: ${shownDefault(one)}`,
  ].filter(Boolean);
  const text = one.description || one.title || id;
  return limits.length > 0 ? `${text} (${limits.join(', ')})` : text;
}

function hasDefault({ default: value }: Field): boolean {
  return value !== undefined && value !== null;
}

function shownDefault(one: Field): string {
  const chosen = [one.default].flat();
  const labels = choicesOf(one);
  return chosen
    .map((value) => labels.find((choice) => choice.value === value)?.label ?? valueText(value))
    .join(', ');
}

/** The answers by the names of the fields and as their types. A field that is not answered has its default. */
function contentFor(asked: z.output<typeof form>, answers: Answers): object {
  const questions = questionsOf(asked);
  const content = questions.flatMap((question) => {
    const one = asked.requestedSchema.properties[question.id];
    const answered = answerTo(question, questions, answers);
    if (!one) return [];
    if (answered) return [[question.id, valueOf(answered, one)]];
    return hasDefault(one) ? [[question.id, one.default]] : [];
  });
  return Object.fromEntries(content) as object;
}

function valueOf(answered: readonly string[], one: Field): unknown {
  const choices = choicesOf(one);
  const chosen = answered.map(
    (label) => choices.find((choice) => choice.label === label)?.value ?? label,
  );
  if (one.type === 'array') return chosen;
  return one.type === 'number' || one.type === 'integer' ? Number(chosen[0]) : chosen[0];
}
