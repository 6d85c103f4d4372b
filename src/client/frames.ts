import type { IncomingMessage } from 'node:http';
import { createParser, type EventSourceMessage } from 'eventsource-parser';
import type { StreamGap } from '../api/events.ts';
import { RESTARTING } from '../api/event-scopes.ts';
import { unreachableError } from '../api/errors.ts';
import { parsedJson } from '../core/lib/parsed-json.ts';
import { LOST, UNREADABLE } from './wire.ts';

/**
 * The frames of an event stream, as its text arrives. Throws what `lost` makes of the error that ends the text, or of the comment
 * that the server restarts.
 */
export async function* parseFrames(
  text: AsyncIterable<string>,
  lost: (cause: unknown) => Error,
): AsyncGenerator<EventSourceMessage, void> {
  const ready: EventSourceMessage[] = [];
  let isRestarting = false;
  const parser = createParser({
    onEvent: (frame) => void ready.push(frame),
    onComment: (comment) => void (isRestarting ||= comment.trim() === RESTARTING),
  });
  try {
    for await (const chunk of text) {
      parser.feed(chunk);
      yield* ready.splice(0);
    }
  } catch (cause) {
    throw lost(cause);
  }
  if (isRestarting) throw lost(new Error(RESTARTING));
}

/** Whether a connection was lost because another server takes over. */
export function isRestart(error: Error): boolean {
  return error.cause instanceof Error && error.cause.message === RESTARTING;
}

/** The frames of a response, as they arrive. Throws `unreachable` when the connection breaks. */
export function framesOf(response: IncomingMessage): AsyncGenerator<EventSourceMessage, void> {
  response.setEncoding('utf8');
  const text = response as AsyncIterable<string>;
  return parseFrames(text, (cause) => unreachableError(LOST, { cause }));
}

/**
 * The events in frames. `onGap` is called with each report of missing events. Throws what `unreadable` makes of a frame
 * without a record.
 */
export async function* eventsIn<Event>(
  frames: AsyncIterable<EventSourceMessage>,
  onGap?: (gap: StreamGap) => void,
  unreadable?: (message: string) => Error,
): AsyncGenerator<Event, void> {
  for await (const { id, event, data } of frames) {
    if (event === 'stream.gap') onGap?.(recordIn(data, unreadable) as StreamGap);
    else if (id !== undefined) yield recordIn(data, unreadable) as Event;
  }
}

/**
 * The record in the data of a frame. A frame without one is from a proxy or a broken server: the caller may connect again,
 * so the default error is `unreachable`.
 */
export function recordIn(
  data: string,
  unreadable: (message: string) => Error = unreachableError,
): object {
  const record = parsedJson(data);
  if (typeof record === 'object' && record !== null && !Array.isArray(record)) return record;
  throw unreadable(UNREADABLE);
}
