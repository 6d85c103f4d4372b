import { z } from 'zod';
import type { Question } from '../../api/approvals.ts';
import { answerTo, approvalTitle, inputDetails } from '../details.ts';
import type { FileOutside } from '../../core/children/sandbox/files.ts';
import type { AttachedRequest } from '../attached-turn.ts';
import { inWords, MessageBudget, tooLargeRequest } from '../budget.ts';
import { excessOf } from '../json-connection.ts';
import type { AskedRequest } from '../output-lines.ts';
import type { AgentAnswer, AgentRequest, AgentSink, AgentUpdate } from '../provider.ts';
import { detailsOf } from './details.ts';
import { approvalKindOf, toolKindOf, toolTitleOf } from './tools.ts';
import { maybe, maybeText } from '../lenient.ts';

const rule = z.looseObject({ toolName: z.string(), ruleContent: z.string().nullish() });
const grant = z.discriminatedUnion('type', [
  z.looseObject({
    type: z.literal('addRules'),
    behavior: z.literal('allow'),
    rules: z.array(rule).min(1),
  }),
  z.looseObject({ type: z.literal('addDirectories'), directories: z.array(z.string()).min(1) }),
  z.looseObject({ type: z.literal('setMode'), mode: z.literal('acceptEdits') }),
]);

const grants = z.array(grant);

/** A permission that claude proposes to grant. Its `destination` is always the session, whatever claude proposes. */
export type Grant = z.output<typeof grant> & { destination: 'session' };

/**
 * Reads the `permission_suggestions` of a request. Empty unless cadre knows all of them: they belong together, and a
 * part alone may not be what a person would read.
 */
function readGrants(suggestions: unknown): Grant[] {
  const { data = [] } = grants.safeParse(suggestions ?? []);
  return data.map((one) => ({ ...one, destination: 'session' }));
}

/** Whether claude accepts edits without asking once it has the grants. */
export function acceptsEdits(grants: readonly Grant[]): boolean {
  return grants.some(({ type }) => type === 'setMode');
}

/** Describes a grant for people. */
function wordsOf(one: Grant): string {
  switch (one.type) {
    case 'addRules':
      return one.rules
        .map(({ toolName, ruleContent }) => toolName + (ruleContent ? `(${ruleContent})` : ''))
        .join(', ');
    case 'addDirectories':
      return `access to ${one.directories.join(', ')}`;
    case 'setMode':
      return 'all file changes in the working directory, including those made by commands such as mv, rm and sed';
  }
}

const request = z.looseObject({
  tool_name: z.string(),
  input: maybe(z.record(z.string(), z.unknown())),
  tool_use_id: maybeText,
  permission_suggestions: z.unknown().optional(),
});

export interface Permission {
  tool: string;
  input: Record<string, unknown>;
  /** Whether the input is all that claude would run the tool with. */
  isWhole: boolean;
  /** The id of the tool call that the request is about. */
  ref: string | null;
  /** Grants that claude proposes for the rest of the session. */
  grants: readonly Grant[];
  raw: unknown;
}

export function readPermission(raw: unknown): Permission | null {
  const { data } = request.safeParse(raw);
  if (!data) return null;
  return {
    tool: data.tool_name,
    input: data.input ?? {},
    isWhole: data.input !== null,
    ref: data.tool_use_id,
    grants: readGrants(data.permission_suggestions),
    raw,
  };
}

interface Dependencies {
  sink: AgentSink;
  cwd: string;
  fileOutside: FileOutside | undefined;
  permissionMode: () => string | null;
  /** Takes the grants that a person has accepted for the session. */
  onGranted: (grants: readonly Grant[]) => void;
  /** Whether the turn is interrupted. */
  isCancelled: () => boolean;
}

/** Answers the requests of claude for permission. */
export class PermissionRequests {
  readonly #deps: Dependencies;

  constructor(deps: Dependencies) {
    this.#deps = deps;
  }

  /** A request becomes an approval where approvals are on; else it is declined, so no turn hangs. */
  async ask(permission: Permission, { line, withdrawn, ...origin }: AskedRequest): Promise<object> {
    const { sink, cwd, fileOutside, permissionMode } = this.#deps;
    const excess = excessOf(permission.raw);
    if (excess) {
      // It is too large to be shown to anybody.
      const notice = tooLargeRequest(excess);
      await line.update({ type: 'notice', ...notice });
      return responseTo({ decision: 'decline', reason: notice.message }, permission);
    }
    const call = callOf(permission);
    // For a tool of a subagent this may be its first mention.
    if (call) await line.update(call);
    const mode = permissionMode();
    if (mode !== 'require_approval') {
      await line.update({ type: 'declined_unasked' });
      return refusalOf(permission, mode);
    }
    const request = await approvalRequest(permission, cwd, fileOutside);
    return this.#responseTo(await sink.ask(request, withdrawn, origin), permission);
  }

  /** Answers a request that an earlier server has stored; null if claude has withdrawn it. */
  async askAgain(
    { request, answer }: AttachedRequest,
    withdrawn: AbortSignal,
  ): Promise<object | null> {
    const permission = readPermission(request);
    const answered = await answer(withdrawn);
    const isWithdrawn = answered.decision === 'cancelled' && !this.#deps.isCancelled();
    return permission && !isWithdrawn ? this.#responseTo(answered, permission) : null;
  }

  async #responseTo(answer: AgentAnswer, permission: Permission): Promise<object> {
    const { ref, grants } = permission;
    if (answer.decision === 'accept' && answer.scope === 'session') this.#deps.onGranted(grants);
    if (answer.decision === 'accept' && ref !== null)
      await this.#deps.sink.update({ type: 'tool', ref, change: { status: 'running' } });
    return responseTo(answer, permission);
  }
}

/** The call that a request is about. Null if the request names no call. */
function callOf({ ref, tool, input: whole }: Permission): AgentUpdate | null {
  if (ref === null) return null;
  const input = new MessageBudget().bounded(whole);
  const change = { title: toolTitleOf(tool, input), kind: toolKindOf(tool), input };
  return { type: 'tool', ref, change: { ...change, status: 'pending' } };
}

export async function approvalRequest(
  permission: Permission,
  cwd: string,
  fileOutside?: FileOutside,
): Promise<AgentRequest> {
  const { tool, input, isWhole, grants, raw } = permission;
  const title = toolTitleOf(tool, input);
  const isNamed = title !== tool || Object.keys(input).length === 0;
  // A model words the description of the same command differently each time.
  const { description: _description, ...command } = input;
  const subject = { tool, cwd, input: tool === 'Bash' ? command : input };
  return {
    kind: approvalKindOf(tool),
    tool,
    title: approvalTitle(title, isNamed ? null : inWords(input)),
    request: raw,
    details: isWhole ? await detailsOf(tool, input, cwd, fileOutside) : inputDetails(raw),
    ...(grants.length > 0
      ? { scopes: ['once', 'session'] as const, sessionAllows: grants.map(wordsOf).join('; ') }
      : {}),
    subject: isWhole ? subject : null,
    ...(tool === 'AskUserQuestion' ? { questions: questionsIn(input) } : {}),
  };
}

/** The questions of `AskUserQuestion`. Claude takes any text besides the options. */
function questionsIn(input: object): Question[] {
  return (asked.safeParse(input).data?.questions ?? []).map((one) => ({
    id: one.question,
    question: one.question,
    header: one.header,
    options: one.options,
    free: true,
    multiple: one.multiSelect,
    required: true,
    type: 'text',
  }));
}

/** The answer in claude's words. An acceptance for the session takes what claude proposes, for the session alone. */
export function responseTo(answer: AgentAnswer, permission: Permission): object {
  switch (answer.decision) {
    case 'accept':
      return {
        behavior: 'allow',
        updatedInput: inputWith(answer.answers, permission),
        ...(answer.scope === 'session' ? { updatedPermissions: permission.grants } : {}),
      };
    case 'decline':
      return deny(answer.reason ?? 'the user declined the request');
    case 'cancelled':
      return { ...deny('the request can no longer be answered'), interrupt: true };
  }
}

/** The answer in a mode in which nobody is asked. */
export function refusalOf({ tool }: Permission, mode: string | null): object {
  const way =
    tool === 'AskUserQuestion'
      ? 'nobody can answer: decide yourself and continue'
      : 'the request was declined automatically: continue without it, or explain why you need it';
  return deny(
    `${tool} needs an answer from the user, but in permission_mode "${mode ?? 'default'}" ${way}. ` +
      'The user can send the turn with permission_mode "require_approval", or allow the tool in the settings of Claude Code.',
  );
}

function deny(message: string): { behavior: 'deny'; message: string } {
  return { behavior: 'deny', message };
}

const asked = z.looseObject({
  questions: z.array(
    z.looseObject({
      question: z.string(),
      header: maybeText,
      options: z.array(z.object({ label: z.string(), description: maybeText })).catch([]),
      multiSelect: z.boolean().catch(false),
    }),
  ),
});

/** The input of the tool; for a question with the answers, which claude expects by the question's text. */
function inputWith(
  answers: Record<string, string[]> | null,
  { tool, input }: Permission,
): Record<string, unknown> {
  const questions = questionsIn(input);
  if (tool !== 'AskUserQuestion' || !answers || questions.length === 0) return input;
  const entries = questions.flatMap((one) => {
    const chosen = answerTo(one, questions, answers);
    return chosen ? [[one.id, chosen.join(', ')]] : [];
  });
  return { ...input, answers: Object.fromEntries(entries) as Record<string, string> };
}
