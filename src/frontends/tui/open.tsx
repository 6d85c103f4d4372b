import { render } from 'ink';
import type { Defaults } from '../../client/defaults.ts';
import type { Client } from '../../client/client.ts';
import type { Edit } from '../../client/review.ts';
import type { Clock } from '../../core/lib/clock.ts';
import type { PromptHistory } from '../../core/lib/prompt-history.ts';
import type { ScreenSettings } from '../../core/lib/screen-settings.ts';
import { paletteFor } from '../terminal/palette.ts';
import { App, type Start } from './app.tsx';
import { BATCH_MS } from './follow.ts';
import { Colors } from './palette.ts';
import { takeTerminal } from './terminal.ts';
import type { Visit } from './visit.ts';

export interface OpenOptions {
  client: Client;
  clock: Clock;
  stdin: NodeJS.ReadStream;
  stdout: NodeJS.WriteStream;
  env: NodeJS.ProcessEnv;
  /** Closes the screen when it aborts. */
  signal: AbortSignal;
  /** Of new sessions. */
  defaults: Defaults;
  start: Start;
  settings?: ScreenSettings | undefined;
  history?: PromptHistory | null;
  /** Has a person edit a text in a program that takes the terminal. */
  edit: Edit;
  /** Opens the shell or the editor of a person in a directory. */
  visit: Visit;
}

/** Draws on the terminal's alternate screen until the user leaves it. Resolves with whether the user pressed Ctrl-C. */
export async function openScreen(options: OpenOptions): Promise<{ interrupted: boolean }> {
  const {
    client,
    clock,
    stdin,
    stdout,
    env,
    signal,
    defaults,
    start,
    edit,
    visit,
    settings,
    history,
  } = options;
  let interrupted = false;
  using terminal = takeTerminal({ ...options, mouse: settings?.mouse === true });
  const onInterrupt = () => (interrupted = true);
  const app = render(
    <Colors value={paletteFor(stdout, env)}>
      <App
        {...{
          client,
          clock,
          defaults,
          start,
          terminal,
          onInterrupt,
          edit,
          visit,
          settings,
          history,
        }}
      />
    </Colors>,
    {
      stdin,
      stdout,
      // Without it ink draws nothing where the variable CI is set. The caller has checked that there is a terminal.
      interactive: true,
      alternateScreen: true,
      incrementalRendering: true,
      maxFps: 1000 / BATCH_MS,
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
