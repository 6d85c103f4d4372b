import type { z } from 'zod';
import type { BodyOf, ResponseOf } from '../../../api/endpoint.ts';
import type { getCapabilities, invokeTool, ToolEnvelope } from '../../../api/gateway.ts';
import type { Session } from '../../../api/sessions.ts';
import { toolInfosOf, toolNamespaces } from '../../../api/tools.ts';
import { invalidError, isAppError } from '../../../api/errors.ts';
import type { ServerParts } from '../../../core/events/server-parts.ts';
import { keyedBy, type IdempotencyStore } from '../../../core/store/idempotency-store.ts';
import { explain, issueInWords } from '../../../core/lib/explain.ts';
import type { SessionStore } from '../../conversations/sessions/store.ts';
import { ANSWER_BYTES, fitted } from './bounded.ts';
import { failure, failureOf, ToolError, type Caller, type Toolkit } from './toolkit.ts';
import type { ToolOffers } from './tool-offers.ts';

type Capabilities = ResponseOf<typeof getCapabilities>;

/** The configuration of teams as `capabilities` returns it. */
export type TeamFacts = Pick<Capabilities, 'cadreTeamManagePermissions' | 'cadreTeamModelPresets'>;

/** The holder of the token of a call. */
export interface GatewayBearer {
  /** The only session that the token may call as; null: any. */
  sessionId: string | null;
  /** Whether the operator makes the call, so that the tool policy does not apply. */
  isOperator: boolean;
  /** The token of an external caller, which may call without a session, as itself; null: any other token. */
  external: { id: string; mode: string | null } | null;
}

/** A tool call by a session, from either form of request. */
interface Invocation {
  tool: string;
  callerId: string;
  invocationId: string | null;
  args: Record<string, unknown>;
}

interface ToolGatewayDeps extends Pick<ServerParts, 'db' | 'logger'> {
  offers: ToolOffers;
  sessionStore: SessionStore;
  toolkits: readonly Toolkit[];
  idempotencyStore: IdempotencyStore;
  teamFacts: () => TeamFacts;
}

/** Calls tools as sessions. A tool's refusal is returned in its envelope; a malformed call throws an AppError. */
export class ToolGateway {
  readonly #deps: ToolGatewayDeps;

  constructor(deps: ToolGatewayDeps) {
    this.#deps = deps;
  }

  /** Returns the capabilities for the bearer of a token. Throws as `invoke` if the token's session is not usable. */
  async capabilitiesFor({ sessionId }: GatewayBearer): Promise<Capabilities> {
    if (sessionId !== null) {
      await this.#live(sessionId);
      this.#deps.offers.taken(sessionId);
    }
    return this.capabilities();
  }

  capabilities(): Capabilities {
    const enabled = this.#deps.toolkits.filter((kit) => kit.disabled() === null);
    const namespaces = enabled.map(({ namespace: name, descriptions }) => ({
      name,
      tools: toolInfosOf(descriptions),
    }));
    return { namespaces, ...this.#deps.teamFacts() };
  }

  /** Calls a tool. Throws `invalid` for a malformed call and a closed or failed caller, `not_found` for an unknown one. */
  async invoke(
    body: BodyOf<typeof invokeTool>,
    bearer: GatewayBearer,
    signal: AbortSignal,
  ): Promise<ToolEnvelope> {
    const call = readCall(body);
    const caller = await this.#callerOf(call.callerId, bearer, signal);
    if (!caller)
      return failure('unauthorized', 'this token belongs to a session other than caller_agent_id');
    if (call.invocationId === null) return this.#run(call, caller);
    return this.#once(call.invocationId, call, caller);
  }

  /** Returns who calls; null if the token may not call in that name. Throws as `invoke` does. */
  async #callerOf(
    id: string,
    { sessionId, isOperator, external }: GatewayBearer,
    signal: AbortSignal,
  ): Promise<Caller | null> {
    if (external?.id === id)
      return { id, session: null, isOperator: false, mode: external.mode, signal };
    const session = await this.#live(id);
    if (sessionId !== null && sessionId !== session.id) return null;
    return { id, session, isOperator, ...(external ? { tokenMode: external.mode } : {}), signal };
  }

  /** Returns a session that may call tools. Throws `invalid` if it is closed or has failed, or `not_found`. */
  async #live(id: string): Promise<Session> {
    const session = await this.#deps.db.read((rx) => this.#deps.sessionStore.session(rx, id));
    if (session.status !== 'closed' && session.status !== 'failed') return session;
    throw invalidError(`session ${id} cannot call tools, because the session is ${session.status}`);
  }

  /** Runs an invocation once, even across restarts: a repetition of an interrupted one reports the interruption. */
  async #once(invocationId: string, call: Invocation, caller: Caller): Promise<ToolEnvelope> {
    const request = keyedBy(['invocation', call.callerId, invocationId], call.tool, call.args);
    try {
      const answer = await this.#deps.idempotencyStore.once(
        request,
        200,
        () => this.#run(call, caller),
        () => null,
        { status: 200, text: JSON.stringify(CUT_OFF) },
      );
      return 'value' in answer ? answer.value : (JSON.parse(answer.kept.text) as ToolEnvelope);
    } catch (error) {
      if (isAppError(error, 'idempotency_conflict'))
        return failure(
          'conflict',
          `invocation_id "${invocationId}" was already used for another call in the last 24 h: use a new one for each call`,
        );
      return this.#envelopeOf(error);
    }
  }

  async #run(call: Invocation, caller: Caller): Promise<ToolEnvelope> {
    try {
      const kit = this.#kitOf(call.tool);
      const description = kit.descriptions[call.tool];
      const run = kit.runs[call.tool];
      if (!description || !run) throw noTool(call.tool);
      const args = checked(description.args, call.args);
      const result = await run(args as never, caller);
      return { ok: true, result: fitted(result, roomFor(call.args)) as Record<string, unknown> };
    } catch (error) {
      return this.#envelopeOf(error);
    }
  }

  #kitOf(tool: string): Toolkit {
    const kit = this.#deps.toolkits.find(({ namespace }) => tool.startsWith(`${namespace}_`));
    if (!kit) throw noTool(tool);
    const disabled = kit.disabled();
    if (disabled !== null) throw new ToolError('feature_disabled', disabled);
    return kit;
  }

  #envelopeOf(error: unknown): ToolEnvelope {
    const refusal = failureOf(error);
    if (refusal) return refusal;
    this.#deps.logger.error({ err: error }, 'a tool failed because of a bug');
    return failure('internal', 'internal error: the server log has the details');
  }
}

/** Returns the maximum size of an answer, for a tool that does not limit its own. A byte takes at most six in JSON. */
function roomFor({ max_bytes }: Record<string, unknown>): number {
  const asked = typeof max_bytes === 'number' ? 2 * 6 * max_bytes : 0;
  return ANSWER_BYTES + asked;
}

const CUT_OFF = failure(
  'internal',
  'the server was restarted during this call: check its effects before you repeat it with another invocation_id',
);

const aliases = [
  ['tool_name', 'toolName'],
  ['caller_agent_id', 'callerAgentId'],
  ['invocation_id', 'invocationId'],
] as const;

function readCall(body: BodyOf<typeof invokeTool>): Invocation {
  const [tool, callerId, invocationId] = aliases.map(([name, alias]) => {
    const [one, other] = [body[name] ?? null, body[alias] ?? null];
    if (one !== null && other !== null && one !== other)
      throw invalidError(`body: ${name} and ${alias} differ: send only one of these fields`);
    const value = one ?? other;
    if (value !== null && value.trim() === '')
      throw invalidError(`body.${name}: the value of the field is blank`);
    return value;
  });
  if (!tool) throw invalidError('body.tool_name: the name of the tool is required');
  if (!callerId)
    throw invalidError('body.caller_agent_id: the id of the calling session is required');
  const { namespace } = body;
  if (typeof namespace === 'string' && !tool.startsWith(`${namespace}_`))
    throw invalidError(`body.namespace: the namespace "${namespace}" has no tool "${tool}"`);
  return { tool, callerId, invocationId: invocationId ?? null, args: body.args ?? {} };
}

/** Returns the checked arguments. Throws `bad_request`, naming the wrong argument and its allowed values. */
function checked<T extends z.ZodType>(schema: T, args: unknown): z.output<T> {
  const result = schema.safeParse(args, { error: issueInWords });
  if (result.success) return result.data;
  throw new ToolError('bad_request', explain(result.error, 'args', schema));
}

function noTool(name: string): ToolError {
  const names = Object.values(toolNamespaces).flatMap((tools) => Object.keys(tools));
  return new ToolError('not_found', `unknown tool "${name}": choose from ${names.join(', ')}`);
}
