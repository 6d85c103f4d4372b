import { finished, Readable, Writable } from 'node:stream';
import { ndJsonStream } from '@agentclientprotocol/sdk/unstable';
import type { Client } from '../../client/client.ts';
import type { Clock } from '../../core/lib/clock.ts';
import { type AgentOptions, createCadreAgent } from './agent.ts';
import { ServerLink } from './server-link.ts';

/**
 * Serves one editor on `stdin` and `stdout`. Resolves after `stdin` has ended, `stdout` has closed or `signal` has
 * aborted. The sessions and running turns continue.
 */
export async function serveEditor({
  stdin,
  stdout,
  signal,
  connect,
  ...options
}: Omit<AgentOptions, 'link'> & {
  stdin: Readable;
  stdout: Writable;
  signal: AbortSignal;
  /** A client of the server as it runs now. Throws an AppError that says what to do where none is found. */
  connect: (mayStart: boolean) => Promise<Client>;
  clock: Clock;
}): Promise<void> {
  const link = new ServerLink(connect, options.clock);
  const app = createCadreAgent({ ...options, link });
  const connection = app.connect(
    ndJsonStream(Writable.toWeb(stdout), Readable.toWeb(stdin) as ReadableStream<Uint8Array>),
  );
  const stop = () => connection.close();
  // The connection notices a broken pipe only at its next write.
  const unwatch = finished(stdout, stop);
  signal.addEventListener('abort', stop);
  if (signal.aborted) stop();
  await connection.closed;
  unwatch();
  signal.removeEventListener('abort', stop);
  link.close();
}
