import { onTestFinished } from 'vitest';
import type { Client } from '../../../src/client/client.ts';
import { noDefaults } from '../../../src/client/defaults.ts';
import { systemClock } from '../../../src/core/lib/clock.ts';
import type { PromptHistory } from '../../../src/core/lib/prompt-history.ts';
import type { ScreenSettings } from '../../../src/core/lib/screen-settings.ts';
import { App, type Start } from '../../../src/frontends/tui/open.tsx';
import { Observable } from '../../../src/frontends/tui/observable.ts';
import { type MouseAction, mouseActionsIn } from '../../../src/frontends/tui/mouse-actions.ts';
import { renderToTerminal, type Size } from './test-terminal.ts';

/** The screen, with a keyboard and something to look at. */
export interface TestScreen extends Omit<
  ReturnType<typeof renderToTerminal>,
  'keyboard' | 'end' | 'frames'
> {
  interrupted: () => boolean;
  /** Whether the terminal has the focus. */
  hasFocus: Observable<boolean>;
  /** The text that was written to the terminal beside the frames, and the text that was copied. */
  written: () => string;
}

export const keys = {
  up: '\u001B[A',
  down: '\u001B[B',
  right: '\u001B[C',
  left: '\u001B[D',
  pageUp: '\u001B[5~',
  home: '\u001B[H',
  end: '\u001B[F',
  enter: '\r',
  escape: '\u001B',
  tab: '\t',
} as const;

/** Shows the screen until the test has finished. */
export function testScreen(
  client: Client,
  start: Start,
  first: Size = { rows: 20, columns: 100 },
  settings?: ScreenSettings,
  history?: PromptHistory,
): TestScreen {
  let interrupted = false;
  const hasFocus = new Observable(true);
  let written = '';
  const outside = {
    hasFocus,
    directory: '/home/ada/project',
    write: (sequence: string) => void (written += sequence),
    copy: (text: string) => {
      written += text;
      return true;
    },
    suspend: () => Promise.resolve(),
    lend: (work: () => Promise<void>) => work(),
    listen: () => undefined,
    pointers: new Set<(mouseAction: MouseAction) => void>(),
  };
  const screen = renderToTerminal(
    <App
      defaults={noDefaults}
      client={client}
      clock={systemClock}
      start={start}
      terminal={outside}
      onInterrupt={() => (interrupted = true)}
      settings={settings}
      history={history}
    />,
    first,
  );
  // As the terminal of the program: it looks on while ink reads.
  screen.keyboard.on('data', (data) => {
    for (const mouseAction of mouseActionsIn(String(data)))
      for (const pointer of outside.pointers) pointer(mouseAction);
  });
  onTestFinished(screen.end);
  return { ...screen, interrupted: () => interrupted, hasFocus, written: () => written };
}
