import type { Clock } from './clock.ts';

/** How long one slice of a long task may block the event loop, in milliseconds; a commit that follows comes on top. */
const SLICE_MS = 2;

/** Runs `step` for items from index `from` on, at least one, until the time is up; returns the next index. */
export function runSlice<T>(
  clock: Pick<Clock, 'monotonic'>,
  items: readonly T[],
  from: number,
  step: (item: T) => void,
): number {
  const end = clock.monotonic() + SLICE_MS;
  for (let at = from; at < items.length; at++) {
    if (at > from && clock.monotonic() >= end) return at;
    step(items[at] as T);
  }
  return items.length;
}

/** Resolves after the event loop has handled the pending I/O of other tasks. */
export function yieldToEventLoop(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** The JSON text of a value in pieces, yielding to the event loop between them: for responses of megabytes. */
export async function* jsonInSlices(
  clock: Pick<Clock, 'monotonic'>,
  value: object,
): AsyncGenerator<string, void> {
  let text = '';
  let end = clock.monotonic() + SLICE_MS;
  for (const part of jsonParts(value, 0)) {
    text += part;
    if (text.length < PIECE_CHARACTERS && clock.monotonic() < end) continue;
    yield text;
    text = '';
    await yieldToEventLoop();
    end = clock.monotonic() + SLICE_MS;
  }
  yield text;
}

const PIECE_CHARACTERS = 64 * 1024;
/** Values at this depth are small enough to serialise with one call. */
const DEPTH = 2;

function* jsonParts(value: unknown, depth: number): Generator<string, void> {
  if (typeof value !== 'object' || value === null || depth === DEPTH)
    return yield JSON.stringify(value);
  const isList = Array.isArray(value);
  const entries = isList
    ? value.map((one, index) => [index, one] as const)
    : Object.entries(value).filter(([, one]) => one !== undefined);
  yield isList ? '[' : '{';
  for (const [index, [key, one]] of entries.entries()) {
    if (index > 0) yield ',';
    if (!isList) yield `${JSON.stringify(key)}:`;
    yield* jsonParts(one === undefined ? null : one, depth + 1);
  }
  yield isList ? ']' : '}';
}
