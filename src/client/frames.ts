import type http from 'node:http';
import type { EventSourceMessage } from 'eventsource-parser';
import { AppError } from '../api/errors.ts';
import { parseFrames } from './parse-frames.ts';

/** The frames of an event stream, as they arrive. Throws `unreachable` when the connection breaks. */
export async function* framesOf(
  response: http.IncomingMessage,
): AsyncGenerator<EventSourceMessage, void> {
  response.setEncoding('utf8');
  try {
    yield* parseFrames(response as AsyncIterable<string>);
  } catch (error) {
    throw new AppError('unreachable', 'the connection to the server was lost', { cause: error });
  } finally {
    response.destroy();
  }
}
