import {
  type AgentContext,
  type CreateElicitationRequest,
  methods,
  type RequestPermissionResponse,
  type SessionUpdate,
  type ToolCallContent,
  type CreateElicitationResponse,
  type ElicitationPropertySchema,
  type ElicitationSchema,
  type PermissionOption,
} from '@agentclientprotocol/sdk/unstable';
import type { Approval, Question } from '../../api/approvals.ts';
import { endpoints } from '../../api/index.ts';
import { isAppError } from '../../api/errors.ts';
import { errorMessage } from '../../core/lib/error-message.ts';
import { ownEntry } from '../../core/lib/own-entry.ts';
import {
  type AskedCall,
  confirmationOf,
  type Decision,
  decisionOf,
  type PermissionRequest,
  permissionRequest,
  reject,
} from './permission.ts';
import type { ServerLink } from './server-link.ts';
import { textContent } from './tool-call.ts';

/** For how long an answer is tried to be delivered to a server that is away, in ms. */
const DELIVERY_MS = 60_000;

interface Dependencies {
  link: ServerLink;
  editor: AgentContext;
  sessionId: string;
  /** Whether the editor shows forms. */
  hasForms: boolean;
  /** The tool call of a request, by the ids in it; null if the editor does not have the call. */
  callOf: (request: unknown) => AskedCall | null;
  /** Keeps what the editor is shown of a call, which the agent may not tell again. */
  noteChanges: (item_id: string, content: readonly ToolCallContent[]) => void;
  update: (update: SessionUpdate) => Promise<void>;
  warn: (text: string) => void;
}

/**
 * Puts the approvals of a session to the editor, and its answers to the server. The first answer wins: a request that was
 * answered elsewhere is withdrawn.
 */
export class ApprovalRelay {
  readonly #deps: Dependencies;
  /** The open requests to the editor, with their withdrawals. */
  readonly #asked = new Map<string, AbortController>();
  /** Approvals that replace a tool call that the agent has not sent. */
  readonly #standIns = new Set<string>();
  #isClosed = false;

  constructor(deps: Dependencies) {
    this.#deps = deps;
  }

  /** Asks for everything that waits in the session. */
  async askAll(): Promise<void> {
    const { link, sessionId: session_id } = this.#deps;
    const query = { status: 'pending' as const };
    const pending = await link.call(endpoints.listSessionApprovals, {
      params: { session_id },
      query,
    });
    for (const { id } of pending.toReversed()) this.requested(id);
  }

  /** Asks for an approval. Returns before it is answered. */
  requested(id: string): void {
    if (this.#isClosed || this.#asked.has(id)) return;
    const withdrawal = new AbortController();
    this.#asked.set(id, withdrawal);
    this.#ask(id, withdrawal.signal)
      .catch((error: unknown) => {
        if (withdrawal.signal.aborted) return;
        const why = errorMessage(error);
        this.#deps.warn(
          `Cannot answer the approval request here: ${why}: run cadre approvals show ${id}`,
        );
      })
      .finally(() => this.#asked.delete(id));
  }

  /** Withdraws the request for an approval that was resolved. */
  async resolved({ id, status }: Pick<Approval, 'id' | 'status'>): Promise<void> {
    this.#asked.get(id)?.abort();
    if (!this.#standIns.delete(id)) return;
    const end = status === 'accepted' ? 'completed' : 'failed';
    await this.#deps.update({ sessionUpdate: 'tool_call_update', toolCallId: id, status: end });
  }

  /** Withdraws every request, and makes no more. The approvals stay pending. */
  close(): void {
    this.#isClosed = true;
    for (const withdrawal of this.#asked.values()) withdrawal.abort();
  }

  async #ask(approval_id: string, signal: AbortSignal): Promise<void> {
    const { link, sessionId: session_id } = this.#deps;
    const params = { session_id, approval_id };
    const approval = await link.call(endpoints.getApproval, { params }, DELIVERY_MS);
    if (approval.status !== 'pending' || signal.aborted) return;
    const body = await this.#answered(approval, signal);
    if (signal.aborted) return;
    try {
      await link.call(endpoints.decideApproval, { params, body }, DELIVERY_MS);
    } catch (error) {
      if (!isAppError(error, 'approval_resolved')) throw error;
    }
  }

  #answered(approval: Approval, signal: AbortSignal): Promise<Decision> {
    const isForm = approval.kind === 'question' && approval.questions && this.#deps.hasForms;
    if (isForm) return this.#askForm(approval, signal);
    return approval.kind === 'question'
      ? this.#askChoice(approval, signal)
      : this.#askPermission(approval, signal);
  }

  async #askPermission(approval: Approval, signal: AbortSignal): Promise<Decision> {
    const ask = async (request: PermissionRequest) =>
      decisionOf(await this.#request(request, signal));
    const shown = this.#shown(approval);
    const decision = await ask(shown);
    const isMeant = decision.decision === 'decline' || !approval.arguments_missing;
    return isMeant ? decision : ask(confirmationOf(shown));
  }

  #request(request: PermissionRequest, signal: AbortSignal): Promise<RequestPermissionResponse> {
    const { editor, sessionId } = this.#deps;
    const { requestPermission } = methods.client.session;
    const options = { cancellationSignal: signal };
    return editor.request(requestPermission, { sessionId, ...request }, options);
  }

  #shown(approval: Approval): PermissionRequest {
    const call = this.#deps.callOf(approval.request);
    const shown = permissionRequest(approval, call);
    if (call) this.#deps.noteChanges(call.item_id, shown.toolCall.content ?? []);
    else this.#standIns.add(approval.id);
    return shown;
  }

  async #askForm(approval: Approval, signal: AbortSignal): Promise<Decision> {
    const { editor, sessionId } = this.#deps;
    const questions = approval.questions ?? [];
    const params: CreateElicitationRequest = {
      sessionId,
      mode: 'form',
      message: questionsText(approval),
      requestedSchema: formOf(questions),
    };
    const { create } = methods.client.elicitation;
    const answer = await editor.request(create, params, { cancellationSignal: signal });
    return decisionOfForm(answer, questions);
  }

  /** For an editor that shows no forms. */
  async #askChoice(approval: Approval, signal: AbortSignal): Promise<Decision> {
    const { sessionId } = this.#deps;
    const questions = approval.questions ?? [];
    const options = permissionOptionsOf(questions);
    const elsewhere =
      options.length > 1
        ? ''
        : `\n\nThis editor cannot show a form: answer in a terminal with cadre sessions attach ${sessionId}.`;
    const { toolCall } = this.#shown(approval);
    const content = textContent(`${questionsText(approval)}${elsewhere}`);
    const request = { toolCall: { ...toolCall, content }, options };
    const { outcome } = await this.#request(request, signal);
    return decisionOfChoice(outcome.outcome === 'selected' ? outcome.optionId : '', questions);
  }
}

/** The form for the questions of an approval, for an editor that shows forms. */
function formOf(questions: readonly Question[]): ElicitationSchema {
  const fields = questions.flatMap(fieldsOf);
  return {
    type: 'object',
    properties: Object.fromEntries(fields),
    // One that can be answered by a text of one's own has two fields, of which one is enough.
    required: questions.filter((one) => one.required && !hasOther(one)).map(({ id }) => id),
  };
}

function questionsText({ title, questions }: Approval): string {
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

function decisionOfForm(
  answer: CreateElicitationResponse,
  questions: readonly Question[],
): Decision {
  if (answer.action !== 'accept') {
    const reason = answer.action === 'decline' ? null : 'the editor dismissed the question';
    return { decision: 'decline', ...(reason === null ? {} : { reason }) };
  }
  const content = (answer.content ?? {}) as Readonly<Record<string, unknown>>;
  const answers = questions.map((one): [string, string[]] => {
    const own = textsOf(ownEntry(content, otherId(one)));
    const chosen = textsOf(ownEntry(content, one.id));
    return [one.id, own.length > 0 && !one.multiple ? own : [...chosen, ...own]];
  });
  const answered = answers.filter(([, texts]) => texts.length > 0);
  return { decision: 'accept', answers: Object.fromEntries(answered) };
}

/** The answers for an editor without forms: the options of a single question, else only to decline. */
function permissionOptionsOf(questions: readonly Question[]): PermissionOption[] {
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

function decisionOfChoice(optionId: string, [only]: readonly Question[]): Decision {
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
