import { z } from 'zod';
import type { Question } from '../../api/approvals.ts';
import { cutTitle } from '../../core/lib/cut-title.ts';
import { answerTo, approvalTitle, inputDetails } from '../details.ts';
import { inWords } from '../budget.ts';
import type { AgentAnswer, AgentRequest } from '../provider.ts';
import type { Params } from './connection.ts';
import { maybe, maybeText } from '../lenient.ts';

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
