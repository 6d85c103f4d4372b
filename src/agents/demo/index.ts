import { addAbortListener } from 'node:events';
import { homedir } from 'node:os';
import { finished, Readable, Writable } from 'node:stream';
import { ndJsonStream } from '@agentclientprotocol/sdk/unstable';
import { createDemoAgent } from './agent.ts';
import { defaultStateDir } from './state-directory.ts';
import { processHost } from './host.ts';

/**
 * Runs the demo agent, an ACP agent without a model: it executes the script in each prompt (script.ts).
 * Serves one client on `stdin` and `stdout`. Resolves after `stdin` has ended, `stdout` has closed or
 * `signal` has aborted, and every running turn has ended and is stored.
 */
export async function runDemoAgent(options: {
  stdin: Readable;
  stdout: Writable;
  stateDir?: string;
  signal?: AbortSignal;
}): Promise<void> {
  const { stdin, stdout, signal } = options;
  const stateDir = options.stateDir ?? defaultStateDir(process.env, homedir());
  const demo = createDemoAgent(stateDir, processHost(stdout));
  const connection = demo.app.connect(
    ndJsonStream(Writable.toWeb(stdout), Readable.toWeb(stdin) as ReadableStream<Uint8Array>),
  );
  const stop = () => connection.close();
  // The connection notices a broken pipe only at its next write.
  const unwatch = finished(stdout, stop);
  using _listener = signal && addAbortListener(signal, stop);
  await connection.closed;
  unwatch();
  await demo.settled();
}
