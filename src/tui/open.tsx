import { render } from 'ink';
import type { Client } from '../client/client.ts';
import type { Clock } from '../lib/clock.ts';
import { App, type Start } from './app.tsx';
import { Screen, type Size } from './screen.ts';
import { Source } from './source.ts';
import { HasColor } from './tint.tsx';

export interface OpenOptions {
  client: Client;
  clock: Clock;
  stdin: NodeJS.ReadStream;
  stdout: NodeJS.WriteStream;
  env: NodeJS.ProcessEnv;
  /** Aborts when the program is told to end. */
  signal: AbortSignal;
  start: Start;
}

/** Takes the terminal until somebody leaves. Answers whether that was by Ctrl-C. */
export async function openScreen(options: OpenOptions): Promise<{ interrupted: boolean }> {
  const { client, clock, stdin, stdout, env, signal, start } = options;
  const screen = new Screen(stdout, clock);
  const size = new Source<Size>(screen.size());
  screen.open(() => size.set(screen.size()));
  let interrupted = false;
  const app = render(
    <HasColor value={!env.NO_COLOR}>
      <App
        client={client}
        clock={clock}
        size={size}
        start={start}
        onInterrupt={() => (interrupted = true)}
      />
    </HasColor>,
    // Of ink's two ways to write, the one that hands over whole frames.
    { stdin, stdout: screen as unknown as NodeJS.WriteStream, debug: true, exitOnCtrlC: false },
  );
  signal.addEventListener('abort', () => app.unmount(), { once: true });
  // ink lets a signal kill the program where nobody else listens to it, and who told us heard it but once.
  for (const name of signals) process.on(name, ignore);
  try {
    await app.waitUntilExit();
  } finally {
    for (const name of signals) process.off(name, ignore);
    screen.close();
  }
  return { interrupted };
}

const signals = ['SIGINT', 'SIGTERM'] as const;
const ignore = () => undefined;
