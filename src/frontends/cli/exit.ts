import { AppError, type ErrorCode } from '../../api/errors.ts';
import { isAboutFile } from '../../core/lib/system-error.ts';
import { commandFor, inOptions, withCommand, withDirectory } from './hints.ts';
import type { GlobalOptions } from './context.ts';

/** The exit codes of commands; `cadre --help` lists them. */
export const exitCodes = {
  ok: 0,
  failed: 1,
  usage: 2,
  notFound: 3,
  auth: 4,
  refused: 5,
  unreachable: 6,
  conflict: 7,
  timeout: 8,
  /** The goal of a run ended, but no check has passed. */
  notPassed: 9,
  /** Ended by Ctrl-C: 128 and the number of SIGINT, as shells report it. */
  interrupted: 130,
  /** The reader of the output left while a process continues: 128 and the number of SIGPIPE. */
  unread: 141,
} as const;

/** The user has pressed Ctrl-C: the command ends without a message. */
export class Interrupted extends Error {}

const exitCodeOf: Record<ErrorCode, number> = {
  invalid: exitCodes.usage,
  usage: exitCodes.usage,
  method_not_allowed: exitCodes.usage,
  payload_too_large: exitCodes.usage,
  unsupported_media_type: exitCodes.usage,
  unsupported_provider_images: exitCodes.usage,
  unknown_model_preset: exitCodes.usage,
  not_found: exitCodes.notFound,
  unauthorized: exitCodes.auth,
  forbidden_host: exitCodes.refused,
  forbidden_origin: exitCodes.refused,
  forbidden_scope: exitCodes.refused,
  unreachable: exitCodes.unreachable,
  shutting_down: exitCodes.unreachable,
  conflict: exitCodes.conflict,
  turn_in_progress: exitCodes.conflict,
  turn_conflict: exitCodes.conflict,
  turn_not_active: exitCodes.conflict,
  session_closed: exitCodes.conflict,
  session_failed: exitCodes.conflict,
  approval_resolved: exitCodes.conflict,
  claim_conflict: exitCodes.conflict,
  already_member: exitCodes.conflict,
  team_deleted: exitCodes.conflict,
  delivery_state: exitCodes.conflict,
  idempotency_conflict: exitCodes.conflict,
  provider_managed: exitCodes.conflict,
  budget_reached: exitCodes.conflict,
  sandbox_unavailable: exitCodes.refused,
  timeout: exitCodes.timeout,
  provider_unavailable: exitCodes.failed,
  too_many: exitCodes.refused,
  internal: exitCodes.failed,
  storage_full: exitCodes.failed,
  storage_damaged: exitCodes.failed,
};

/**
 * Prints a failure as one line on stderr, or as JSON with `json`. Commands that it names have the data directory of the
 * options. Returns the exit code.
 */
export function reportFailure(
  error: unknown,
  json: boolean,
  stderr: NodeJS.WritableStream,
  options: Pick<GlobalOptions, 'dataDir'> = {},
): number {
  const known = error instanceof AppError ? error : new AppError('internal', textOf(error));
  const { code } = known;
  const message = withDirectory(known.message, options);
  const hint = commandFor(message, options)?.replace(/^or /, '') ?? hintOf(inOptions(message));
  if (json) stderr.write(`${JSON.stringify({ error: { code, message, hint } })}\n`);
  else stderr.write(`cadre: ${withCommand(message, options)}\n`);
  return exitCodeOf[code];
}

/** Returns the text of an unknown error. An error of the system about a file has no stack, because cadre is not its cause. */
function textOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return isAboutFile(error) ? error.message : (error.stack ?? error.message);
}

/** The part of a message behind its last colon or semicolon, where messages say what to do; null without one. */
function hintOf(message: string): string | null {
  return /[:;] ([^:;]+)$/.exec(message)?.[1] ?? null;
}
