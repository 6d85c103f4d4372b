import { z } from 'zod';
import { plain } from '../../core/lib/plain.ts';
import { parsed } from '../json-lines.ts';

/** One message; the protocol has no batches. */
const message = z.record(z.string(), z.unknown());
const goodError = z.looseObject({ code: z.int(), message: z.string() });
const anyError = z.looseObject({ code: z.int(), message: z.string().catch('') });

const INTERNAL_ERROR = -32_603;
/** The longest reason that is taken from the data of an error, in UTF-16 code units: some agents send a stack. */
const MAX_REASON = 1000;

/**
 * The message in a line, whose answers are as the SDK reads them; null where there is none. `json` is the value of the
 * whole line. Some agents leave marks of a terminal in front: they draw a progress, or set a title.
 */
export function readMessage(json: unknown, line: string): Record<string, unknown> | null {
  const { data } = message.safeParse(json === undefined ? parsed(withoutMarks(line)) : json);
  if (!data) return null;
  return data.method === undefined ? readableAnswer(data) : data;
}

/** Words in front of a message may be a log of the messages, so that this one has come already. */
function withoutMarks(line: string): string {
  const at = line.indexOf('{');
  return /[\p{L}\p{N}]/u.test(plain(line.slice(0, Math.max(at, 0)))) ? line : line.slice(at);
}

/** Agents write our ids as texts, an error that is null beside a result, and errors in shapes of their own. */
function readableAnswer({ id, error, ...rest }: Record<string, unknown>): Record<string, unknown> {
  const ours = typeof id === 'string' && /^\d+$/.test(id) ? Number(id) : id;
  const answer = ours === undefined ? rest : { ...rest, id: ours };
  if (error === undefined || (error === null && rest.result !== undefined)) return answer;
  if (goodError.safeParse(error).success) return { ...answer, error };
  const said = anyError.safeParse(error).data ?? { code: INTERNAL_ERROR, message: '' };
  return { ...answer, error: { code: said.code, message: said.message, data: error } };
}

/** The reason in the data of an error: many agents write it only there. Null where there is none in words. */
export function reasonIn(data: unknown): string | null {
  if (typeof data === 'string') return data.trim() === '' ? null : data.trim().slice(0, MAX_REASON);
  if (typeof data !== 'object' || data === null) return null;
  const { details, detail, message: said, reason, error } = message.safeParse(data).data ?? {};
  const parts = Array.isArray(data) ? data : [details, detail, said, reason, error];
  for (const part of parts) {
    const found = reasonIn(part);
    if (found !== null) return found;
  }
  return null;
}
