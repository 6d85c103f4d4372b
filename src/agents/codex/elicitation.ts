import { z } from 'zod';
import type { Question } from '../../api/approvals.ts';
import { cutTitle } from '../../core/lib/cut-title.ts';
import { approvalTitle } from '../details.ts';
import { inWords } from '../budget.ts';
import { type AgentAnswer, type AgentRequest, inputDetails } from '../provider.ts';
import type { Params } from './connection.ts';

const text = z.string().nullish().catch(null);
const elicitation = z.looseObject({
  serverName: z.string().catch('a server'),
  message: text,
  url: text,
  _meta: z
    .looseObject({
      codex_approval_kind: text,
      tool_name: text,
      tool_params: z.unknown(),
      persist: z
        .union([z.string(), z.array(z.unknown())])
        .nullish()
        .catch(null),
    })
    .nullish()
    .catch(null),
  requestedSchema: z
    .looseObject({
      properties: z
        .record(
          z.string(),
          z.looseObject({
            type: text,
            title: text,
            description: text,
            enum: z.array(z.string()).optional().catch(undefined),
          }),
        )
        .catch({}),
      required: z.array(z.string()).catch([]),
    })
    .nullish()
    .catch(null),
});
/** A request of an MCP server through codex. */
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
  const kind = fieldsOf(asked).length > 0 ? 'question' : 'tool';
  const questions = kind === 'question' ? { questions: questionsOfForm(asked) } : {};
  const details = inputDetails({ server: serverName, message, url });
  return { kind, title: cutTitle(title), details, subject: null, ...questions };
}

const BOOLEANS = ['yes', 'no', 'true', 'false'];

/** The questions in the form of an MCP server. */
function questionsOfForm({ requestedSchema: schema }: Elicitation): Question[] {
  return Object.entries(schema?.properties ?? {}).map(([id, field]) => {
    const { type, title, description } = field;
    const labels = type === 'boolean' ? BOOLEANS : (field.enum ?? []);
    return {
      id,
      question: description ?? title ?? id,
      header: title ?? null,
      options: labels.map((label) => ({ label, description: null })),
      free: labels.length === 0,
      multiple: type === 'array',
      required: schema?.required.includes(id) ?? false,
      type: type === 'number' || type === 'integer' ? type : 'text',
    };
  });
}

function fieldsOf({ requestedSchema: schema }: Elicitation): [string, string | null][] {
  const fields = Object.entries(schema?.properties ?? {});
  return fields.map(([name, { type }]) => [name, type ?? null]);
}

/** The answers to a form, by the names of its fields and as their types. */
export function contentFor(asked: Elicitation, reply: AgentAnswer): object | null {
  if (reply.decision !== 'accept' || !reply.answers) return null;
  const { answers } = reply;
  const content = fieldsOf(asked).flatMap(([name, type]) => {
    const chosen = answers[name];
    return chosen ? [[name, valueOf(chosen, type)]] : [];
  });
  return Object.fromEntries(content) as object;
}

function valueOf(chosen: readonly string[], type: string | null): unknown {
  const [first = ''] = chosen;
  if (type === 'array') return chosen;
  if (type === 'number' || type === 'integer') return Number(first);
  return type === 'boolean' ? /^(true|yes)$/i.test(first) : first;
}
