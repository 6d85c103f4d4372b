import type http from 'node:http';
import { createParser, type EventSourceMessage } from 'eventsource-parser';
import { AppError } from '../errors.ts';

/** The frames of an event stream, as they arrive. Throws `unreachable` when the connection breaks. */
export async function* framesOf(
  response: http.IncomingMessage,
): AsyncGenerator<EventSourceMessage, void> {
  const ready: EventSourceMessage[] = [];
  const parser = createParser({ onEvent: (frame) => void ready.push(frame) });
  response.setEncoding('utf8');
  try {
    for await (const chunk of response) {
      parser.feed(chunk as string);
      yield* ready.splice(0);
    }
  } catch (error) {
    throw new AppError('unreachable', 'the connection to the server was lost', { cause: error });
  } finally {
    response.destroy();
  }
}
