import type { IncomingMessage } from 'node:http';
import { createParser, type EventSourceMessage } from 'eventsource-parser';
import type { StreamGap } from '../api/events.ts';
import { unreachableError } from '../api/errors.ts';
import { LOST } from './wire.ts';

/** The frames of an event stream, as its text arrives. Throws what `lost` makes of the error that ends the text. */
export async function* parseFrames(
  text: AsyncIterable<string>,
  lost: (cause: unknown) => Error,
): AsyncGenerator<EventSourceMessage, void> {
  const ready: EventSourceMessage[] = [];
  const parser = createParser({ onEvent: (frame) => void ready.push(frame) });
  try {
    for await (const chunk of text) {
      parser.feed(chunk);
      yield* ready.splice(0);
    }
  } catch (cause) {
    throw lost(cause);
  }
}

/** The frames of a response, as they arrive. Throws `unreachable` when the connection breaks. */
export function framesOf(response: IncomingMessage): AsyncGenerator<EventSourceMessage, void> {
  response.setEncoding('utf8');
  const text = response as AsyncIterable<string>;
  return parseFrames(text, (cause) => unreachableError(LOST, { cause }));
}

/** The events in frames. `onGap` is called with each report of missing events. */
export async function* eventsIn<Event>(
  frames: AsyncIterable<EventSourceMessage>,
  onGap?: (gap: StreamGap) => void,
): AsyncGenerator<Event, void> {
  for await (const { id, event, data } of frames) {
    if (event === 'stream.gap') onGap?.(JSON.parse(data) as StreamGap);
    else if (id !== undefined) yield JSON.parse(data) as Event;
  }
}
