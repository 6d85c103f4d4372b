import { z } from 'zod';
import type { ApprovalDetail, Question } from '../../api/approvals.ts';
import { cutTitle } from '../../core/lib/cut-title.ts';
import { filledFields } from '../../core/lib/filled-fields.ts';
import { DERIVED_LIMITS, inWords, MessageBudget } from '../budget.ts';
import { answerTo, approvalTitle, hunksDetail, inputDetails } from '../details.ts';
import type { AgentAnswer, AgentRequest } from '../provider.ts';
import type { Params } from './connection.ts';
import type { Change } from './items.ts';
import { maybe, maybeText } from '../lenient.ts';

const kindOfChange = z
  .looseObject({ type: maybeText, move_path: maybeText })
  .catch({ type: null, move_path: null });
const legacyChange = z.looseObject({
  type: maybeText,
  content: maybeText,
  unified_diff: maybeText,
  move_path: maybeText,
});
/** Versions differ in whether the type is a field, or the name of the only one. */
const legacyChanges = z.union([
  legacyChange.extend({ type: z.string() }),
  z.record(z.string(), legacyChange).transform((one) => {
    const [type = null, fields] = Object.entries(one)[0] ?? [];
    return { ...fields, type };
  }),
]);

/**
 * Returns the details of a file change: the content of a new or removed file, or the hunks of another file. Further
 * fields of the change are a detail of their own.
 */
export function changeDetails(
  { path, diff, kind, ...change }: Change,
  budget = new MessageBudget(),
): ApprovalDetail[] {
  const name = `change of ${path}`;
  if (typeof diff !== 'string') return [{ type: 'input', name, value: { ...change, kind } }];
  const { type, move_path: movedTo, ...others } = kindOfChange.parse(kind);
  const more = Object.fromEntries(filledFields({ ...change, ...others }));
  return [
    shownAs(type, { path, diff, movedTo: movedTo ?? path }, budget) ?? {
      type: 'input',
      name,
      value: { diff, kind },
    },
    ...(Object.keys(more).length > 0 ? [{ type: 'input' as const, name, value: more }] : []),
  ];
}

/** Null where the change is too large to be shown as a diff. */
function shownAs(
  type: string | null | undefined,
  { path, diff, movedTo }: { path: string; diff: string; movedTo: string },
  budget: MessageBudget,
): ApprovalDetail | null {
  if (type !== 'add' && type !== 'delete')
    return budget.isPath(path) && budget.isPath(movedTo) ? hunksDetail(path, diff, movedTo) : null;
  const [before, after] = type === 'add' ? [null, diff] : [diff, null];
  const whole = budget.diff(path, before, after);
  return whole === null ? null : { type: 'diff', path, diff: whole };
}

/** The same for the request of older versions, which holds the content of a change in other fields. */
export function legacyChangeDetails(
  [path, change]: [string, unknown],
  budget = new MessageBudget(),
): ApprovalDetail[] {
  const { type, content, unified_diff, move_path, ...others } = legacyChanges
    .catch({ type: '' })
    .parse(change);
  const diff = content ?? unified_diff;
  if (typeof diff !== 'string')
    return [{ type: 'input', name: `change of ${path}`, value: change }];
  return changeDetails({ ...others, path, diff, kind: { type, move_path } }, budget);
}

/** All changes of a request. Too many are shown as they came. */
export function allDetails<T>(
  changes: readonly T[],
  detailsOf: (change: T, budget: MessageBudget) => ApprovalDetail[],
): ApprovalDetail[] {
  if (changes.length > DERIVED_LIMITS.entries)
    return [{ type: 'input', name: 'changes', value: changes }];
  const budget = new MessageBudget();
  return changes.flatMap((change) => detailsOf(change, budget));
}

const field = z.looseObject({
  type: maybeText,
  title: maybeText,
  description: maybeText,
  enum: z.array(z.string()).catch([]),
});
const elicitation = z.looseObject({
  serverName: z.string().catch('a server'),
  message: maybeText,
  url: maybeText,
  _meta: maybe(
    z.looseObject({
      codex_approval_kind: maybeText,
      tool_name: maybeText,
      tool_params: z.unknown().optional(),
      persist: maybe(z.union([z.string(), z.array(z.unknown())])),
    }),
  ),
  requestedSchema: z
    .looseObject({
      properties: z.record(z.string(), field).catch({}),
      required: z.array(z.string()).catch([]),
    })
    .catch({ properties: {}, required: [] }),
});
export type Elicitation = z.output<typeof elicitation>;

export function readElicitation(params: Params): Elicitation {
  return elicitation.parse(params);
}

/**
 * An MCP server uses one request to ask whether a tool may run, and to ask its own questions. Such a question does not
 * name the call that it is about, so an answer applies to that question only.
 */
export function fieldsRequest(asked: Elicitation): Omit<AgentRequest, 'request'> {
  const { serverName, message, url, _meta: meta } = asked;
  if (meta?.codex_approval_kind === 'mcp_tool_call') {
    const { tool_name: name, tool_params: input } = meta;
    const tool = `${serverName}.${name ?? 'a tool'}`;
    const isTold = Boolean(name) && input !== undefined;
    return {
      kind: 'tool',
      title: approvalTitle(tool, input ? inWords(input) : null),
      details: inputDetails({ server: serverName, tool: name, message }).concat(
        inputDetails(input),
      ),
      ...([meta.persist].flat().includes('session')
        ? { scopes: ['once', 'session'], sessionAllows: `every call of ${tool}` }
        : {}),
      subject: isTold ? { tool, input } : null,
    };
  }
  const title = [message ?? `question from ${serverName}`, url ?? []].flat().join(' ');
  const questions = questionsOfForm(asked);
  const shown = {
    title: cutTitle(title),
    details: inputDetails({ server: serverName, message, url }),
    subject: null,
  };
  return questions.length > 0
    ? { kind: 'question', ...shown, questions }
    : { kind: 'tool', ...shown };
}

const BOOLEANS = ['yes', 'no', 'true', 'false'];

function questionsOfForm({ requestedSchema: { properties, required } }: Elicitation): Question[] {
  return Object.entries(properties).map(([id, field]) => {
    const { type, title, description } = field;
    const labels = type === 'boolean' ? BOOLEANS : field.enum;
    return {
      id,
      question: description ?? title ?? id,
      header: title,
      options: labels.map((label) => ({ label, description: null })),
      free: labels.length === 0,
      multiple: type === 'array',
      required: required.includes(id),
      type: type === 'number' || type === 'integer' ? type : 'text',
    };
  });
}

/** The answers to a form, by the names of its fields and as their types. */
export function contentFor(asked: Elicitation, reply: AgentAnswer): object | null {
  if (reply.decision !== 'accept' || !reply.answers) return null;
  const { answers } = reply;
  const questions = questionsOfForm(asked);
  const content = questions.flatMap((question) => {
    const { type = null } = asked.requestedSchema.properties[question.id] ?? {};
    const chosen = answerTo(question, questions, answers);
    return chosen ? [[question.id, valueOf(chosen, type)]] : [];
  });
  return Object.fromEntries(content) as object;
}

function valueOf(chosen: readonly string[], type: string | null): unknown {
  const [first = ''] = chosen;
  if (type === 'array') return chosen;
  if (type === 'number' || type === 'integer') return Number(first);
  return type === 'boolean' ? /^(true|yes)$/i.test(first) : first;
}
