import { EventEmitter } from 'node:events';
import { PassThrough } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { stripVTControlCharacters } from 'node:util';
import { render } from 'ink';
import type { Client } from '../../../src/client/client.ts';
import { noDefaults } from '../../../src/client/defaults.ts';
import { systemClock } from '../../../src/core/lib/clock.ts';
import type { PromptHistory } from '../../../src/core/lib/prompt-history.ts';
import type { ScreenSettings } from '../../../src/core/lib/screen-settings.ts';
import { App, type Start } from '../../../src/frontends/tui/app.tsx';
import { type Pointed, pointedIn } from '../../../src/frontends/tui/read-pointer.ts';
import { Observable } from '../../../src/frontends/tui/observable.ts';
import { expectEventually } from '../expect-eventually.ts';

interface Size {
  rows: number;
  columns: number;
}

/** The screen, with a keyboard and something to look at. */
export interface Stage {
  resize: (size: Size) => void;
  /** What it shows, line by line. */
  lines: () => string[];
  expectShows: (text: string | RegExp) => Promise<void>;
  expectHides: (text: string) => Promise<void>;
  /** Types, key after key. */
  press: (...keys: string[]) => Promise<void>;
  /** Pastes a text, as a terminal with bracketed paste does. */
  paste: (text: string) => Promise<void>;
  interrupted: () => boolean;
  /** Whether the terminal has the focus. */
  hasFocus: Observable<boolean>;
  /** What was written to the terminal beside the frames, and what was copied. */
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

/** Shows the screen to a test, and takes it away whatever happens. */
export async function withScreen(
  client: Client,
  start: Start,
  test: (stage: Stage) => Promise<void>,
  first: Size = { rows: 20, columns: 100 },
  settings?: ScreenSettings,
  history?: PromptHistory,
): Promise<void> {
  const terminal = Object.assign(new Terminal(), first);
  const keyboard = Object.assign(new PassThrough(), { isTTY: true, setRawMode: () => undefined });
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
    pointers: new Set<(pointed: Pointed) => void>(),
  };
  const app = render(
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
    {
      stdin: keyboard,
      stdout: terminal as unknown as NodeJS.WriteStream,
      interactive: true,
      // Hands over each frame whole, with nothing that moves a cursor.
      debug: true,
      exitOnCtrlC: false,
    },
  );
  // As the terminal of the program: it looks on while ink reads.
  keyboard.on('data', (data) => {
    for (const pointed of pointedIn(String(data)))
      for (const pointer of outside.pointers) pointer(pointed);
  });
  const text = () => stripVTControlCharacters(terminal.frame);
  try {
    await test({
      resize(size) {
        Object.assign(terminal, size);
        terminal.emit('resize');
      },
      lines: () => text().split('\n'),
      expectShows: (wanted) => expectEventually(text).toMatch(wanted),
      expectHides: (wanted) => expectEventually(text).not.toContain(wanted),
      async press(...pressed) {
        for (const key of pressed) {
          keyboard.write(key);
          // As from a terminal: the next one is read when this one was dealt with.
          for (let turn = 0; turn < 3; turn++) await nextTurn();
        }
      },
      async paste(text) {
        keyboard.write(`\u001B[200~${text}\u001B[201~`);
        for (let turn = 0; turn < 3; turn++) await nextTurn();
      },
      interrupted: () => interrupted,
      hasFocus,
      written: () => written,
    });
  } finally {
    app.unmount();
  }
}

/** Keeps the last frame that was written to it. */
class Terminal extends EventEmitter {
  readonly isTTY = true;
  rows = 0;
  columns = 0;
  frame = '';

  write(frame: string, written?: () => void): boolean {
    // At its end ink writes nothing, to be told when all that came before is out.
    if (frame !== '') this.frame = frame;
    written?.();
    return true;
  }
}
