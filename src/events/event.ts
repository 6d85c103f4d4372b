import { type DescribedEvent, type EventKind, kinds, type Payload } from '../api/events.ts';

/** The version of every payload this release writes. */
const PAYLOAD_VERSION = 1;
/** A payload in an event is at most this long, as JSON. */
const MAX_PAYLOAD_BYTES = 256 * 1024;
/** A text that does not fit is cut to this many bytes. */
const CUT_TEXT_BYTES = 64 * 1024;

/** What happened: a kind and the payload of that kind. Of several kinds, a union. */
export type EventBody<K extends EventKind = EventKind> = K extends EventKind
  ? { kind: K; payload: Payload<K> }
  : never;

/** What a feature says of an event; the log adds number, id and time. */
export type EventDraft<K extends EventKind = EventKind> = EventBody<K> & {
  session_id?: string | null;
  turn_id?: string | null;
  process_id?: string | null;
  worktree_id?: string | null;
  team_id?: string | null;
};

/** The whole runtime, or the events that carry one id; where `kinds` is there, only events of those kinds. */
export type Scope = { kinds?: ReadonlySet<string> | undefined } & (
  | { name: 'runtime' }
  | { name: 'session' | 'process' | 'worktree' | 'team'; id: string }
);

/** What names a scope, whatever its kinds: `''` is the whole runtime. */
export function scopeKey(scope: Scope): string {
  return scope.name === 'runtime' ? '' : `${scope.name}_id:${scope.id}`;
}

/** The column, and field of a record, that ties an event to a scope; null for the whole runtime. */
export function scopeColumn(
  scope: Scope,
): 'session_id' | 'process_id' | 'worktree_id' | 'team_id' | null {
  return scope.name === 'runtime' ? null : `${scope.name}_id`;
}

/** The record as it is stored and sent. */
export function eventRecord(
  draft: EventDraft,
  given: { seq: number; id: string; now: number },
): DescribedEvent {
  const record = {
    seq: given.seq,
    id: given.id,
    kind: draft.kind,
    scope: kinds[draft.kind].scope,
    session_id: draft.session_id ?? null,
    turn_id: draft.turn_id ?? null,
    process_id: draft.process_id ?? null,
    worktree_id: draft.worktree_id ?? null,
    team_id: draft.team_id ?? null,
    created_at: given.now,
    v: PAYLOAD_VERSION,
    payload: fitPayload(draft.payload),
  };
  // The draft has kind and payload together, and what fitPayload leaves out is what its kind says may be missing.
  return record as DescribedEvent;
}

/**
 * A payload that is too long loses the ends of its long texts, and says so: `truncated: true` and
 * `total_bytes` of the longest. The whole is kept where the record or item is.
 */
export function fitPayload(payload: Record<string, unknown>): Record<string, unknown> {
  if (jsonBytes(payload) <= MAX_PAYLOAD_BYTES) return payload;
  // JSON may write a character in six bytes: where cutting once is not enough, less is kept.
  for (let limit = CUT_TEXT_BYTES; limit >= 1024; limit /= 4) {
    let longest = 0;
    const cut = cutTexts(payload, limit, (bytes) => {
      longest = Math.max(longest, bytes);
    }) as Record<string, unknown>;
    const fitted = { ...cut, truncated: true, total_bytes: longest || jsonBytes(payload) };
    if (jsonBytes(fitted) <= MAX_PAYLOAD_BYTES) return fitted;
  }
  return { ...namesOf(payload), truncated: true, total_bytes: jsonBytes(payload) };
}

/** What names the thing, of a payload with many parts of which none is long: the first small ones. */
function namesOf(payload: Record<string, unknown>): Record<string, unknown> {
  let room = MAX_PAYLOAD_BYTES / 4;
  const named = Object.entries(payload).filter(([key, value]) => {
    const bytes = jsonBytes(value) + byteLength(key) + 4;
    if (bytes > 1024 || bytes > room) return false;
    room -= bytes;
    return true;
  });
  return Object.fromEntries(named);
}

function cutTexts(value: unknown, limit: number, onCut: (bytes: number) => void): unknown {
  if (typeof value === 'string') {
    const bytes = byteLength(value);
    if (bytes <= limit) return value;
    onCut(bytes);
    return cutText(value, limit);
  }
  if (Array.isArray(value)) return value.map((part) => cutTexts(part, limit, onCut));
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, part]) => [key, cutTexts(part, limit, onCut)]),
  );
}

/** The first `limit` bytes of a text, without a broken character at the end. */
export function cutText(text: string, limit: number): string {
  const bytes = Buffer.from(text);
  let end = Math.min(limit, bytes.length);
  while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end--;
  return bytes.toString('utf8', 0, end);
}

function jsonBytes(value: unknown): number {
  return byteLength(JSON.stringify(value) ?? '');
}

function byteLength(text: string): number {
  return Buffer.byteLength(text);
}
