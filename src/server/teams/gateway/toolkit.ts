import type { z } from 'zod';
import type { Session } from '../../../api/sessions.ts';
import type { ToolDescription } from '../../../api/tools.ts';
import type { ToolEnvelope, ToolErrorCode } from '../../../api/gateway.ts';
import { isServerError, type ServerErrorCode } from '../../../api/errors.ts';

/** Who calls a tool: a session, or a program outside of cadre with a token of its own. */
export type Caller = SessionCaller | ExternalCaller;

interface AnyCaller {
  /** The owner of what it starts: the id of its session or of its token. */
  id: string;
  /** Aborts when the caller no longer waits for the answer. */
  signal: AbortSignal;
}

export interface SessionCaller extends AnyCaller {
  session: Session;
  /** Whether the call came with a token of the operator instead of the session's own. */
  isOperator: boolean;
  /** The permission mode of a token with the scope tools that the call came with: the stricter mode counts. */
  tokenMode?: string | null;
}

/** A caller without a session has no directory, no turn in which a person could be asked, and no team. */
interface ExternalCaller extends AnyCaller {
  session: null;
  isOperator: false;
  mode: string | null;
}

export type Answer = Record<string, unknown>;

/** Runs a tool with checked arguments. Throws ToolError or AppError. */
type Run<Description> =
  Description extends ToolDescription<infer Args>
    ? (args: z.output<Args>, caller: Caller) => Promise<Answer>
    : never;

export type Runs<Tools> = { [Name in keyof Tools]: Run<Tools[Name]> };

export interface Toolkit {
  namespace: string;
  /** Returns why none of the tools can be called at the moment; null if they can. */
  disabled(): string | null;
  descriptions: Readonly<Record<string, ToolDescription>>;
  runs: Readonly<Record<string, (args: never, caller: Caller) => Promise<Answer>>>;
}

/** Joins descriptions and functions; the compiler checks that each description has its function. */
export function toolkit<Tools extends Record<string, ToolDescription>>(kit: {
  namespace: string;
  disabled?: () => string | null;
  descriptions: Tools;
  runs: Runs<Tools>;
}): Toolkit {
  return { disabled: () => null, ...kit };
}

/** A failure with one of the codes that only tools have. */
export class ToolError extends Error {
  override readonly name = 'ToolError';
  readonly code: ToolErrorCode;

  constructor(code: ToolErrorCode, message: string) {
    super(message);
    this.code = code;
  }
}

const codes: Record<ServerErrorCode, ToolErrorCode> = {
  invalid: 'bad_request',
  provider_unavailable: 'bad_request',
  unsupported_provider_images: 'unsupported_provider_images',
  unknown_model_preset: 'unknown_model_preset',
  unauthorized: 'unauthorized',
  forbidden_host: 'unauthorized',
  forbidden_origin: 'unauthorized',
  forbidden_scope: 'unauthorized',
  not_found: 'not_found',
  method_not_allowed: 'bad_request',
  payload_too_large: 'bad_request',
  unsupported_media_type: 'bad_request',
  conflict: 'conflict',
  turn_in_progress: 'conflict',
  turn_conflict: 'conflict',
  turn_not_active: 'conflict',
  session_closed: 'conflict',
  session_failed: 'conflict',
  approval_resolved: 'conflict',
  claim_conflict: 'conflict',
  already_member: 'conflict',
  team_deleted: 'conflict',
  delivery_state: 'conflict',
  idempotency_conflict: 'conflict',
  provider_managed: 'conflict',
  budget_reached: 'conflict',
  sandbox_unavailable: 'conflict',
  too_many: 'limit_reached',
  internal: 'internal',
  storage_full: 'limit_reached',
  storage_damaged: 'internal',
  shutting_down: 'backend_unavailable',
};

/** Returns the envelope of a tool's failure; null for a bug, whose details only the log may contain. */
export function failureOf(error: unknown): (ToolEnvelope & { ok: false }) | null {
  if (error instanceof ToolError) return failure(error.code, error.message);
  if (isServerError(error)) return failure(codes[error.code], error.message);
  return null;
}

export function failure(code: ToolErrorCode, message: string): ToolEnvelope & { ok: false } {
  return { ok: false, error: { code, message } };
}
