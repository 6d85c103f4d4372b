import type { ToolEnvelope, ToolErrorCode } from '../api/gateway.ts';
import { AppError, type ErrorCode } from '../errors.ts';

/** A refusal that only tools know. */
export class ToolError extends Error {
  override readonly name = 'ToolError';
  readonly code: ToolErrorCode;

  constructor(code: ToolErrorCode, message: string) {
    super(message);
    this.code = code;
  }
}

/** The code of a tool's failure for each code of the server. */
const codes: Record<ErrorCode, ToolErrorCode> = {
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
  too_many: 'limit_reached',
  internal: 'internal',
  storage_full: 'limit_reached',
  storage_damaged: 'internal',
  shutting_down: 'backend_unavailable',
  usage: 'bad_request',
  unreachable: 'backend_unavailable',
  timeout: 'backend_unavailable',
};

/** The failure of a tool as its caller gets it; null for a bug, whose details go to the log alone. */
export function failureOf(error: unknown): (ToolEnvelope & { ok: false }) | null {
  if (error instanceof ToolError) return failure(error.code, error.message);
  if (error instanceof AppError) return failure(codes[error.code], forAgents(error.message));
  return null;
}

/** Replaces the hint at a command, meant for people, by a hint at the tool that shows the same, if there is one. */
function forAgents(message: string): string {
  return message.replaceAll(commandHint, (_hint, noun: string) => {
    const tool = toolOf[noun];
    return tool === undefined ? '' : `; see ${tool}`;
  });
}

const commandHint = /[;:,]?\s+(?:or\s+)?(?:see|try)\s+cadre\s+([a-z]+)(?:\s+-{0,2}[a-z]+)*/g;

const toolOf: Readonly<Record<string, string>> = {
  teams: 'cadre_team_status',
  processes: 'cadre_process_status',
};

export function failure(code: ToolErrorCode, message: string): ToolEnvelope & { ok: false } {
  return { ok: false, error: { code, message } };
}
