import type { ToolEnvelope, ToolErrorCode } from '../../../api/gateway.ts';
import { isServerError, type ServerErrorCode } from '../../../api/errors.ts';

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
