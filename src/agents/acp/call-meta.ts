import { inputDetails, type AgentRequest } from '../provider.ts';

/** The fields of `_meta` with the model's own values. */
export const INPUT_FIELD = /^((raw|tool|mcp)_?)*(input|arg(ument)?s|param(eter)?s)$/i;

/** An agent's record is a few levels deep; what is deeper is not its own statement. */
export const MAX_META_DEPTH = 8;

/** The fields of `_meta` with the output of a terminal, which says nothing of what a call would do. */
const OUTPUT_FIELDS = new Set([
  'terminal_info',
  'terminal_output',
  'terminal_output_delta',
  'terminal_exit',
]);

/** Returns the arguments of a call in `_meta`, each below the names of the records around it; null if there are none. */
export function argumentsInMeta(meta: unknown, depth = 0): Record<string, unknown> | null {
  if (typeof meta !== 'object' || meta === null || depth > MAX_META_DEPTH) return null;
  const found = Object.entries(meta).flatMap(([field, value]: [string, unknown]) => {
    const args = INPUT_FIELD.test(field) ? filled(value) : argumentsInMeta(value, depth + 1);
    return args === null ? [] : [[field, args]];
  });
  return found.length > 0 ? (Object.fromEntries(found) as Record<string, unknown>) : null;
}

/**
 * Returns `_meta` as details: its arguments alone if the protocol's fields state the others, else all of it but the
 * output of terminals.
 */
export function metaDetails(meta: unknown, isStated: boolean): AgentRequest['details'] {
  if (isStated) return inputDetails({ _meta: argumentsInMeta(meta) });
  const fields = Object.entries(meta !== null && typeof meta === 'object' ? meta : {});
  const others = fields.filter(([field]) => !OUTPUT_FIELDS.has(field));
  return inputDetails({ _meta: others.length > 0 ? Object.fromEntries(others) : null });
}

function filled(value: unknown): unknown {
  if (value === undefined || value === '') return null;
  return typeof value === 'object' && value !== null && Object.keys(value).length === 0
    ? null
    : value;
}
