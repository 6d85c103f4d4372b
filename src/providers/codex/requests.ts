import { z } from 'zod';
import type { AgentAnswer, AgentRequest } from '../provider.ts';
import type { Params } from './connection.ts';
import { type Change, titleOfChanges } from './items.ts';

/** Something that codex asks, and how it is answered. */
export interface Asked {
  request: AgentRequest;
  /** The item that it is about. */
  itemId: string | null;
  /** What codex is told. An acceptance is for this once: nothing that it would remember is taken up. */
  answer(given: AgentAnswer): object;
}

/** What codex asks, read; null: nobody here knows such a request. `changesOf` tells what an item would change. */
export function readRequest(
  method: string,
  params: Params,
  changesOf: (itemId: string) => readonly Change[],
): Asked | null {
  return kinds[method]?.(params, changesOf) ?? null;
}

/** What it is told in a mode in which nobody is asked. */
export function refusalOf({ request }: Asked, mode: string | null): string {
  const way =
    request.kind === 'question'
      ? 'nobody is there to answer: decide yourself and go on'
      : 'it was declined without asking anybody';
  return (
    `it needs an answer from a person, and in permission_mode "${mode ?? 'default'}" ${way}. ` +
    'The user can send the turn with permission_mode "require_approval", or allow it in the configuration of codex.'
  );
}

const DECLINED = 'the user declined it';
const text = z.string().nullish().catch(null);
const ofItem = z.looseObject({ itemId: text, callId: text, reason: text });
const command = z.looseObject({ command: text, cwd: text });
const legacyCommand = z.looseObject({ command: z.array(z.string()).catch([]), cwd: text });
const legacyPatch = z.looseObject({ fileChanges: z.record(z.string(), z.unknown()).catch({}) });
const permissions = z.looseObject({
  permissions: z.record(z.string(), z.unknown()).catch({}),
});
const elicitation = z.looseObject({
  serverName: z.string().catch('a server'),
  message: text,
  url: text,
  _meta: z
    .looseObject({ codex_approval_kind: text, tool_name: text, tool_params: z.unknown() })
    .nullish()
    .catch(null),
  requestedSchema: z
    .looseObject({
      properties: z.record(z.string(), z.looseObject({ type: text })).catch({}),
    })
    .nullish()
    .catch(null),
});
const questions = z.looseObject({
  questions: z.array(z.looseObject({ id: z.string(), question: z.string(), header: text })),
});

type Kind = (params: Params, changesOf: (itemId: string) => readonly Change[]) => Asked | null;

const kinds: Record<string, Kind> = {
  'item/commandExecution/requestApproval'(params) {
    const { command: line, cwd } = command.parse(params);
    const title = line ?? ofItem.parse(params).reason ?? 'a command';
    return {
      ...about(params, { kind: 'command', title, subject: { command: line, cwd, title } }),
      answer: ({ decision }) => ({ decision: words[decision] }),
    };
  },
  'item/fileChange/requestApproval'(params, changesOf) {
    const changes = changesOf(ofItem.parse(params).itemId ?? '');
    const title = titleOfChanges(changes);
    return {
      ...about({ ...params, changes }, { kind: 'file_change', title, subject: { changes } }),
      answer: ({ decision }) => ({ decision: words[decision] }),
    };
  },
  'item/permissions/requestApproval'(params) {
    const { permissions: wanted } = permissions.parse(params);
    const { reason } = ofItem.parse(params);
    const title = `more permissions${reason ? `: ${reason}` : ''}`;
    const granted = Object.fromEntries(Object.entries(wanted).filter(([, one]) => one !== null));
    return {
      ...about(params, { kind: 'tool', title, subject: { permissions: wanted } }),
      answer: ({ decision }) => ({
        permissions: decision === 'accept' ? granted : {},
        scope: 'turn',
      }),
    };
  },
  'item/tool/requestUserInput'(params) {
    const { data } = questions.safeParse(params);
    if (!data) return null;
    const title = data.questions.map(({ question }) => question).join(' ');
    return {
      ...about(params, { kind: 'question', title, subject: { questions: data.questions } }),
      answer: (given) => ({ answers: answersTo(data.questions, given) }),
    };
  },
  'mcpServer/elicitation/request'(params) {
    const asked = elicitation.parse(params);
    return {
      ...about(params, wishOf(asked)),
      answer: (given) => ({
        action: given.decision === 'cancelled' ? 'cancel' : given.decision,
        content: contentFor(asked, given),
        _meta: null,
      }),
    };
  },
  execCommandApproval(params) {
    const { command: line, cwd } = legacyCommand.parse(params);
    const title = line.join(' ');
    return {
      ...about(params, { kind: 'command', title, subject: { command: line, cwd } }),
      answer: (given) => ({ decision: legacyDecision(given) }),
    };
  },
  applyPatchApproval(params) {
    const { fileChanges: changes } = legacyPatch.parse(params);
    const title = `edit ${Object.keys(changes).join(', ')}`;
    return {
      ...about(params, { kind: 'file_change', title, subject: { changes } }),
      answer: (given) => ({ decision: legacyDecision(given) }),
    };
  },
};

/** `decline` lets the turn go on, `cancel` ends it. */
const words = { accept: 'accept', decline: 'decline', cancelled: 'cancel' };

function legacyDecision(given: AgentAnswer): unknown {
  if (given.decision === 'accept') return 'approved';
  return given.decision === 'decline'
    ? { denied: { rejection: given.reason ?? DECLINED } }
    : 'abort';
}

function about(
  params: Params,
  request: Omit<AgentRequest, 'request'>,
): { request: AgentRequest; itemId: string | null } {
  const { itemId, callId } = ofItem.parse(params);
  return { request: { ...request, request: params }, itemId: itemId ?? callId ?? null };
}

/** A question is answered by its id, its text or its heading. Where nobody answers it, it is told why. */
function answersTo(
  asked: z.output<typeof questions>['questions'],
  given: AgentAnswer,
): Record<string, { answers: string[] }> {
  const answers = asked.flatMap(({ id, question, header }) => {
    if (given.decision === 'decline') return [[id, { answers: [given.reason ?? DECLINED] }]];
    if (given.decision === 'cancelled') return [];
    const chosen =
      given.answers?.[id] ?? given.answers?.[question] ?? given.answers?.[header ?? ''];
    return chosen ? [[id, { answers: chosen }]] : [];
  });
  return Object.fromEntries(answers) as Record<string, { answers: string[] }>;
}

type Elicitation = z.output<typeof elicitation>;

/** An MCP server asks by the same request whether a tool may run, and for what it wants to know. */
function wishOf(asked: Elicitation): Omit<AgentRequest, 'request'> {
  const { serverName, message, url, _meta: meta } = asked;
  if (meta?.codex_approval_kind === 'mcp_tool_call') {
    const tool = `${serverName}.${meta.tool_name ?? 'a tool'}`;
    return { kind: 'tool', title: tool, subject: { tool, input: meta.tool_params } };
  }
  const title = [message ?? `a question of ${serverName}`, url ?? []].flat().join(' ');
  const kind = fieldsOf(asked).length > 0 ? 'question' : 'tool';
  return { kind, title, subject: { serverName, title, schema: asked.requestedSchema } };
}

function fieldsOf({ requestedSchema: schema }: Elicitation): [string, string | null][] {
  const fields = Object.entries(schema?.properties ?? {});
  return fields.map(([name, { type }]) => [name, type ?? null]);
}

/** The answers by the names of its fields, as the types that it wants. */
function contentFor(asked: Elicitation, given: AgentAnswer): object | null {
  if (given.decision !== 'accept' || !given.answers) return null;
  const { answers } = given;
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
