import { render } from 'ink';
import { paletteFor } from '../terminal/palette.ts';
import { App, type AppProps } from './app.tsx';
import { Colors } from './palette.ts';
import { takeTerminal } from './terminal.ts';

/**
 * Events come in batches, which limit how often they are drawn. A key has to be drawn at once, so its frame waits at most
 * one frame of this rate behind another.
 */
const MAX_FPS = 60;

export interface OpenOptions extends Omit<AppProps, 'terminal' | 'onInterrupt'> {
  stdin: NodeJS.ReadStream;
  stdout: NodeJS.WriteStream;
  env: NodeJS.ProcessEnv;
  /** Closes the screen when it aborts. */
  signal: AbortSignal;
}

/** Draws on the terminal's alternate screen until the user leaves it. Resolves with whether the user pressed Ctrl-C. */
export async function openScreen(options: OpenOptions): Promise<{ interrupted: boolean }> {
  const { stdin, stdout, env, signal, settings } = options;
  let interrupted = false;
  using terminal = takeTerminal({ ...options, mouse: settings?.mouse === true });
  const onInterrupt = () => (interrupted = true);
  const app = render(
    <Colors value={paletteFor(stdout, env)}>
      <App {...options} terminal={terminal} onInterrupt={onInterrupt} />
    </Colors>,
    {
      stdin,
      stdout,
      // Without it ink draws nothing where the variable CI is set. The caller has checked that there is a terminal.
      interactive: true,
      alternateScreen: true,
      incrementalRendering: true,
      maxFps: MAX_FPS,
      exitOnCtrlC: false,
    },
  );
  terminal.listen();
  signal.addEventListener('abort', () => app.unmount(), { once: true });
  // ink ends the process on a signal that nothing else listens to, and the listener behind `signal` runs only once.
  // With these the process lives until the terminal is restored.
  for (const name of signals) process.on(name, ignore);
  try {
    await app.waitUntilExit();
  } finally {
    for (const name of signals) process.off(name, ignore);
  }
  return { interrupted };
}

const signals = ['SIGINT', 'SIGTERM'] as const;
const ignore = () => undefined;
