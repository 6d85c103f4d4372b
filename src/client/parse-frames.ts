import { createParser, type EventSourceMessage } from 'eventsource-parser';

/** The frames of an event stream, as its text arrives. */
export async function* parseFrames(
  text: AsyncIterable<string>,
): AsyncGenerator<EventSourceMessage, void> {
  const ready: EventSourceMessage[] = [];
  const parser = createParser({ onEvent: (frame) => void ready.push(frame) });
  for await (const chunk of text) {
    parser.feed(chunk);
    yield* ready.splice(0);
  }
}
