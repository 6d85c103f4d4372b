import { firstBytes, jsonBytes } from '../lib/cut.ts';
import { type DescribedEvent, type EventKind, kinds, type Payload } from '../../api/events.ts';

/** The version of every payload that this release writes. */
const PAYLOAD_VERSION = 1;
/** The maximum size of an event's payload as JSON, in bytes. */
const MAX_PAYLOAD_BYTES = 256 * 1024;
/** The size to which long texts of a payload that does not fit are cut first, in bytes. */
const CUT_TEXT_BYTES = 64 * 1024;

/** The size up to which any field stays in a payload that does not fit, in bytes. */
const SMALL_BYTES = 1024;

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

/** A set of events: all events of the runtime, or the events with one id; with `kinds`, only events of these kinds. */
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

/** Returns the record of an event, and its text as it is stored and sent. */
export function eventRecord(
  draft: EventDraft,
  assigned: { seq: number; id: string; now: number },
): { record: DescribedEvent; text: string } {
  const kind = kinds[draft.kind];
  const record = {
    seq: assigned.seq,
    id: assigned.id,
    kind: draft.kind,
    scope: kind.scope,
    session_id: draft.session_id ?? null,
    turn_id: draft.turn_id ?? null,
    process_id: draft.process_id ?? null,
    worktree_id: draft.worktree_id ?? null,
    team_id: draft.team_id ?? null,
    created_at: assigned.now,
    v: PAYLOAD_VERSION,
    payload: draft.payload as Record<string, unknown>,
  };
  // A payload that is certainly too long is left out without being serialised.
  if (kind.exact.length > 0 && isCertainlyLonger(record.payload, MAX_PAYLOAD_BYTES))
    record.payload = fitPayload(record.payload, kind);
  let text = JSON.stringify(record);
  // A character takes three bytes at most, so that the payload of nearly every event is serialised and measured once.
  if (text.length * 3 > MAX_PAYLOAD_BYTES) {
    record.payload = fitPayload(record.payload, kind);
    text = JSON.stringify(record);
  }
  // The draft types kind and payload together, and fitPayload only omits what the schema of the kind lets be missing.
  return { record: record as DescribedEvent, text };
}

/**
 * Returns a payload of at most 256 KiB as JSON. In a longer one, the ends of long texts are cut off, `truncated` is
 * true and `total_bytes` is the size of the longest text. If that is not enough, the `large` fields of its kind are left
 * out; those that are `exact` are left out at once. The full texts are in the row of the record or item.
 */
export function fitPayload(
  payload: Record<string, unknown>,
  { large, exact }: { large: readonly string[]; exact: readonly string[] } = {
    large: [],
    exact: [],
  },
): Record<string, unknown> {
  const total = jsonBytes(payload);
  if (total <= MAX_PAYLOAD_BYTES) return payload;
  const decidedBy = withoutFields(payload, exact);
  // JSON may write a character in six bytes, so texts are cut shorter until the payload fits.
  for (let limit = CUT_TEXT_BYTES; limit >= SMALL_BYTES; limit /= 4) {
    const fitted = cutTo(limit, decidedBy, total);
    if (jsonBytes(fitted) <= MAX_PAYLOAD_BYTES) return fitted;
  }
  const fitted = cutTo(SMALL_BYTES, withoutFields(decidedBy, large), total);
  if (jsonBytes(fitted) <= MAX_PAYLOAD_BYTES) return fitted;
  return { ...smallFields(payload), truncated: true, total_bytes: total };
}

function cutTo(
  limit: number,
  payload: Record<string, unknown>,
  total: number,
): Record<string, unknown> {
  let longest = 0;
  const cut = cutTexts(payload, limit, (bytes) => {
    longest = Math.max(longest, bytes);
  }) as Record<string, unknown>;
  return { ...cut, truncated: true, total_bytes: longest || total };
}

/** Returns the payload without named fields that are longer than 1 KiB, in the payload and in its records. */
function withoutFields(
  payload: Record<string, unknown>,
  paths: readonly string[],
): Record<string, unknown> {
  const rest = { ...payload };
  for (const path of paths) {
    const [name = '', field] = path.split('.');
    const value = rest[name];
    if (field === undefined) {
      if (isLarge(value)) delete rest[name];
    } else if (typeof value === 'object' && value !== null && field in value) {
      const { [field]: inner, ...others } = value as Record<string, unknown>;
      if (isLarge(inner)) rest[name] = others;
    }
  }
  return rest;
}

/** Returns the first small fields, for a payload that is too long in fields that its kind does not name. */
function smallFields(payload: Record<string, unknown>): Record<string, unknown> {
  let room = MAX_PAYLOAD_BYTES / 4;
  const fields = Object.entries(payload).filter(([key, value]) => {
    const bytes = jsonBytes(value) + Buffer.byteLength(key) + 4;
    if (bytes > SMALL_BYTES || bytes > room) return false;
    room -= bytes;
    return true;
  });
  return Object.fromEntries(fields);
}

function cutTexts(value: unknown, limit: number, onCut: (bytes: number) => void): unknown {
  if (typeof value === 'string') {
    const bytes = Buffer.byteLength(value);
    if (bytes <= limit) return value;
    onCut(bytes);
    return firstBytes(value, limit);
  }
  if (Array.isArray(value)) return value.map((part) => cutTexts(part, limit, onCut));
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, part]) => [key, cutTexts(part, limit, onCut)]),
  );
}

function isLarge(value: unknown): boolean {
  return isCertainlyLonger(value, SMALL_BYTES) || jsonBytes(value) > SMALL_BYTES;
}

/** Whether the texts of a value alone are longer than so many bytes. It reads no further than that. */
function isCertainlyLonger(value: unknown, bytes: number): boolean {
  let room = bytes;
  const spend = (one: unknown): boolean => {
    if (typeof one === 'string') room -= one.length;
    else if (typeof one === 'object' && one !== null)
      for (const name in one) {
        room -= 2;
        if (spend((one as Record<string, unknown>)[name])) return true;
      }
    return room < 0;
  };
  return spend(value);
}
