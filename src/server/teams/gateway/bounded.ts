import type { RecordPage } from '../../../core/store/records.ts';
import { firstBytes, jsonBytes } from '../../../core/lib/cut.ts';

/** The default maximum size of a tool's answer, in bytes of JSON. */
export const ANSWER_BYTES = 16 * 1024;
/** The bytes reserved for the envelope and for the notes on omitted content. */
const RESERVED_BYTES = 1024;

/** A list in an answer, most important items first; items that do not fit are omitted from its end. */
export interface BoundedList {
  items: readonly unknown[];
  /** The total number of items, if it is more than `items`; null: more, but not counted. */
  total?: number | null;
  /** The fraction of the remaining room that this list may use; default: all of it. */
  share?: number;
  /** Returns the arguments for the items after the first `shown`; null: no arguments reach them. */
  next?: (shown: number) => Record<string, unknown> | null;
  /** Whether the items are pairs of key and value, to be shown as an object. */
  isMap?: boolean;
}

export interface LeftOut {
  what: string;
  /** The number of omitted items; null: not counted. */
  count: number | null;
  /** The arguments with which the tool shows the omitted items. */
  next: Record<string, unknown> | null;
}

/**
 * Returns an answer of at most `bytes`: `fixed`, with its long texts cut, and as many items of each list as fit, in the
 * order of the lists. A cut text ends with the number of missing bytes; `left_out` names all other omitted content,
 * null if there is none.
 */
export function bounded(
  fixed: Record<string, unknown>,
  lists: Readonly<Record<string, BoundedList>>,
  bytes = ANSWER_BYTES,
): Record<string, unknown> {
  const names = Object.keys(lists);
  const whole = Math.max(0, bytes - RESERVED_BYTES);
  const answer = fitted(fixed, names.length === 0 ? whole : whole / 2) as Record<string, unknown>;
  const left_out: LeftOut[] = [];
  let room = whole - jsonBytes(answer);
  for (const [name, list] of Object.entries(lists)) {
    const shown = shownOf(list, Math.floor(room * (list.share ?? 1)) - name.length - 6);
    answer[name] = list.isMap ? Object.fromEntries(shown as [string, unknown][]) : shown;
    room -= jsonBytes(answer[name]) + name.length + 6;
    const count = list.total === null ? null : (list.total ?? list.items.length) - shown.length;
    if (count !== 0) left_out.push({ what: name, count, next: list.next?.(shown.length) ?? null });
  }
  answer.left_out = left_out.length === 0 ? null : left_out;
  return answer;
}

/** Returns as much of a page of records, newest first, as fits; `left_out` has the cursor of the next ones. */
export async function boundedPage(
  name: string,
  read: (limit: number) => Promise<RecordPage<object>>,
  limit: number,
  bytes: number,
): Promise<Record<string, unknown>> {
  const page = await read(limit);
  const answer = bounded({}, { [name]: { items: page.records } }, bytes);
  const shown = (answer[name] as unknown[]).length;
  if (shown === page.records.length && page.nextCursor === null) return answer;
  const isWhole = shown === page.records.length || shown === 0;
  const cursor = isWhole ? page.nextCursor : (await read(shown)).nextCursor;
  const next = cursor === null ? null : { cursor };
  return { ...answer, left_out: [{ what: name, count: null, next }] };
}

/** Returns a value unchanged if it has at most `bytes` of JSON; else cuts its long texts and lists as far as needed. */
export function fitted(value: unknown, bytes: number): unknown {
  if (jsonBytes(value) <= bytes) return value;
  for (const step of STEPS) {
    const cut = cutDeep(value, step, 0);
    if (jsonBytes(cut) <= bytes) return cut;
  }
  return Array.isArray(value) ? [] : {};
}

/** The limits of one attempt: bytes of each text, entries of each list and object, and depth. */
interface Step {
  text: number;
  parts: number;
  depth: number;
}

const STEPS: readonly Step[] = [
  { text: 4096, parts: 100, depth: 20 },
  { text: 1024, parts: 50, depth: 8 },
  { text: 512, parts: 40, depth: 6 },
  { text: 200, parts: 40, depth: 4 },
  { text: 80, parts: 30, depth: 3 },
];

/** The maximum size of one item of a list, so that no single item fills the answer. */
const ITEM_BYTES = 4096;

function shownOf({ items }: BoundedList, room: number): unknown[] {
  const shown: unknown[] = [];
  let left = room - 2;
  for (const item of items) {
    const cut = fitted(item, Math.min(ITEM_BYTES, Math.max(left, 0)));
    const size = jsonBytes(cut) + 1;
    // An item that was cut down to an empty list or object says less than its omission.
    if (size > left || (size <= 3 && jsonBytes(item) > 2)) break;
    shown.push(cut);
    left -= size;
  }
  return shown;
}

function cutDeep(value: unknown, step: Step, depth: number): unknown {
  if (typeof value === 'string') return cutText(value, step.text);
  if (typeof value !== 'object' || value === null) return value;
  if (depth === step.depth) return Array.isArray(value) ? [] : {};
  if (Array.isArray(value))
    return value.slice(0, step.parts).map((one) => cutDeep(one, step, depth + 1));
  const entries = Object.entries(value);
  const cut = entries.slice(0, step.parts).flatMap(([key, one]): [string, unknown][] => {
    const field: [string, unknown] = [firstBytes(key, step.text), cutDeep(one, step, depth + 1)];
    if (!Array.isArray(one) || one.length <= step.parts) return [field];
    return [field, [`${key}_left_out`, one.length - step.parts]];
  });
  if (entries.length > step.parts) cut.push(['fields_left_out', entries.length - step.parts]);
  // An assignment would set the prototype for the key "__proto__".
  return Object.fromEntries(cut);
}

/** Returns the beginning of a text that is too long, followed by the number of missing bytes. */
function cutText(text: string, bytes: number): string {
  const all = Buffer.byteLength(text);
  if (all <= bytes) return text;
  const kept = firstBytes(text, bytes);
  return `${kept}… [${all - Buffer.byteLength(kept)} more bytes left out]`;
}
