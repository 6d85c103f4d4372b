import { render } from 'ink-testing-library';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { stripVTControlCharacters } from 'node:util';
import type { Client } from '../../../src/client/client.ts';
import { systemClock } from '../../../src/lib/clock.ts';
import { App, type Start } from '../../../src/tui/app.tsx';
import type { Size } from '../../../src/tui/screen.ts';
import { Source } from '../../../src/tui/source.ts';
import { expectEventually } from '../expect-eventually.ts';

/** The screen, with a keyboard and something to look at. */
export interface Stage {
  size: Source<Size>;
  /** What it expectShows, line by line. */
  lines: () => string[];
  expectShows: (text: string | RegExp) => Promise<void>;
  expectHides: (text: string) => Promise<void>;
  /** Types, key after key. */
  press: (...keys: string[]) => Promise<void>;
  interrupted: () => boolean;
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

/** Shows the screen to a test, and takes it away whatever happens. */
export async function withScreen(
  client: Client,
  start: Start,
  test: (stage: Stage) => Promise<void>,
  first: Size = { rows: 20, columns: 100 },
): Promise<void> {
  const size = new Source(first);
  let interrupted = false;
  const app = render(
    <App
      client={client}
      clock={systemClock}
      size={size}
      start={start}
      onInterrupt={() => (interrupted = true)}
    />,
  );
  const text = () => stripVTControlCharacters(app.lastFrame() ?? '');
  try {
    await test({
      size,
      lines: () => text().split('\n'),
      expectShows: (wanted) => expectEventually(text).toMatch(wanted),
      expectHides: (wanted) => expectEventually(text).not.toContain(wanted),
      async press(...pressed) {
        for (const key of pressed) {
          app.stdin.write(key);
          // As from a terminal: the next one is read when this one was dealt with.
          for (let turn = 0; turn < 3; turn++) await nextTurn();
        }
      },
      interrupted: () => interrupted,
    });
  } finally {
    app.unmount();
  }
}
