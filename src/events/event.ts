import { type DescribedEvent, type EventKind, kinds, type Payload } from '../api/events.ts';

/** The version of every payload that this release writes. */
const PAYLOAD_VERSION = 1;
/** The maximum size of an event's payload as JSON, in bytes. */
const MAX_PAYLOAD_BYTES = 256 * 1024;
/** The size to which long texts of a payload that does not fit are cut first, in bytes. */
const CUT_TEXT_BYTES = 64 * 1024;

/** The kind of an event and the payload of that kind; for several kinds, a union. */
export type EventBody<K extends EventKind = EventKind> = K extends EventKind
  ? { kind: K; payload: Payload<K> }
  : never;

/** An event before it is appended. The log adds its seq, id and time. */
export type EventDraft<K extends EventKind = EventKind> = EventBody<K> & {
  session_id?: string | null;
  turn_id?: string | null;
  process_id?: string | null;
  worktree_id?: string | null;
  team_id?: string | null;
};

/** A set of events: those of the whole runtime, or those with one id; with `kinds`, only events of these kinds. */
export type Scope = { kinds?: ReadonlySet<string> | undefined } & (
  | { name: 'runtime' }
  | { name: 'session' | 'process' | 'worktree' | 'team'; id: string }
);

/** Returns the key of a scope without regard to its kinds; `''` for the whole runtime. */
export function scopeKey(scope: Scope): string {
  return scope.name === 'runtime' ? '' : `${scope.name}_id:${scope.id}`;
}

/** Returns the column, and record field, that holds the id of a scope; null for the whole runtime. */
export function scopeColumn(
  scope: Scope,
): 'session_id' | 'process_id' | 'worktree_id' | 'team_id' | null {
  return scope.name === 'runtime' ? null : `${scope.name}_id`;
}

/** Returns the record of an event as it is stored and sent. */
export function eventRecord(
  draft: EventDraft,
  assigned: { seq: number; id: string; now: number },
): DescribedEvent {
  const record = {
    seq: assigned.seq,
    id: assigned.id,
    kind: draft.kind,
    scope: kinds[draft.kind].scope,
    session_id: draft.session_id ?? null,
    turn_id: draft.turn_id ?? null,
    process_id: draft.process_id ?? null,
    worktree_id: draft.worktree_id ?? null,
    team_id: draft.team_id ?? null,
    created_at: assigned.now,
    v: PAYLOAD_VERSION,
    payload: fitPayload(draft.payload),
  };
  // The draft types kind and payload together, and fitPayload only omits what the schema of the kind lets be missing.
  return record as DescribedEvent;
}

/**
 * Returns a payload of at most 256 KiB as JSON. In a longer one, the ends of long texts are cut off, `truncated` is
 * true and `total_bytes` is the size of the longest text. The full texts are in the row of the record or item.
 */
export function fitPayload(payload: Record<string, unknown>): Record<string, unknown> {
  if (jsonBytes(payload) <= MAX_PAYLOAD_BYTES) return payload;
  // JSON may write a character in six bytes, so texts are cut shorter until the payload fits.
  for (let limit = CUT_TEXT_BYTES; limit >= 1024; limit /= 4) {
    let longest = 0;
    const cut = cutTexts(payload, limit, (bytes) => {
      longest = Math.max(longest, bytes);
    }) as Record<string, unknown>;
    const fitted = { ...cut, truncated: true, total_bytes: longest || jsonBytes(payload) };
    if (jsonBytes(fitted) <= MAX_PAYLOAD_BYTES) return fitted;
  }
  return { ...smallFields(payload), truncated: true, total_bytes: jsonBytes(payload) };
}

/**
 * Returns the first small fields, for a payload that is too long although none of its texts is. They identify the
 * record.
 */
function smallFields(payload: Record<string, unknown>): Record<string, unknown> {
  let room = MAX_PAYLOAD_BYTES / 4;
  const fields = Object.entries(payload).filter(([key, value]) => {
    const bytes = jsonBytes(value) + byteLength(key) + 4;
    if (bytes > 1024 || bytes > room) return false;
    room -= bytes;
    return true;
  });
  return Object.fromEntries(fields);
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

/** Returns at most the first `limit` bytes of a text, without an incomplete character at the end. */
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
