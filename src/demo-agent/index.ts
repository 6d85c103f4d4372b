import { homedir } from 'node:os';
import { finished, Readable, Writable } from 'node:stream';
import { ndJsonStream } from '@agentclientprotocol/sdk/unstable';
import { createDemoAgent } from './agent.ts';
import { defaultStateDir } from './state-dir.ts';
import { realWorld } from './world.ts';

/**
 * Runs the demo agent, an ACP agent with no model behind it: it does what the script in a prompt says
 * (script.ts). Serves one client on the given streams. Resolves when `stdin` ends, `stdout` is closed or
 * `signal` aborts; the turns that run then end first, and the history has what they said.
 */
export async function runDemoAgent(options: {
  stdin: Readable;
  stdout: Writable;
  stateDir?: string;
  signal?: AbortSignal;
}): Promise<void> {
  const { stdin, stdout, signal } = options;
  const stateDir = options.stateDir ?? defaultStateDir(process.env, homedir());
  const demo = createDemoAgent(stateDir, realWorld(stdout));
  const connection = demo.app.connect(
    ndJsonStream(Writable.toWeb(stdout), Readable.toWeb(stdin) as ReadableStream<Uint8Array>),
  );
  const stop = () => connection.close();
  // The connection itself learns of a broken pipe only when it writes again.
  const unwatch = finished(stdout, stop);
  signal?.addEventListener('abort', stop, { once: true });
  if (signal?.aborted) stop();
  await connection.closed;
  unwatch();
  signal?.removeEventListener('abort', stop);
  await demo.settled();
}
