import { EventEmitter } from 'node:events';
import { PassThrough } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { stripVTControlCharacters } from 'node:util';
import { render } from 'ink';
import { type ReactNode, useState } from 'react';
import { colorless } from '../../../src/frontends/terminal/palette.ts';
import { emptyKeyboard, Listeners, useKeyboard } from '../../../src/frontends/tui/keyboard.ts';
import type { PaneModel } from '../../../src/frontends/tui/panes/pane-model.ts';
import type { Hold, PaneProps } from '../../../src/frontends/tui/panes/pane-props.ts';
import { expectEventually } from '../expect-eventually.ts';

/** A pane on a screen of its own. */
export interface PaneStage {
  lines: () => string[];
  expectShows: (text: string | RegExp) => Promise<void>;
  press: (...keys: string[]) => Promise<void>;
  /** What the pane keeps from the frame. */
  hold: () => Hold;
  told: string[];
  /** How often the screen was drawn. */
  frames: () => number;
}

/** Starts a model, shows its pane to a test, and takes both away whatever happens. */
export async function withPane<Model extends PaneModel>(
  model: Model,
  Pane: (props: PaneProps<Model>) => ReactNode,
  test: (stage: PaneStage) => Promise<void>,
  size = { rows: 12, columns: 60 },
): Promise<void> {
  const terminal = Object.assign(new Terminal(), size);
  const keyboard = Object.assign(new PassThrough(), { isTTY: true, setRawMode: () => undefined });
  const told: string[] = [];
  let hold: Hold = null;
  const onHold = (next: Hold) => (hold = next);
  const tell = (text: string) => void told.push(text);
  function Frame() {
    const [listeners] = useState(() => emptyKeyboard());
    useKeyboard(listeners, () => undefined);
    const place = { ...size, isFocused: true, palette: colorless, tell, onHold };
    return (
      <Listeners value={listeners}>
        <Pane model={model} {...place} />
      </Listeners>
    );
  }
  const app = render(<Frame />, {
    stdin: keyboard as unknown as NodeJS.ReadStream,
    stdout: terminal as unknown as NodeJS.WriteStream,
    interactive: true,
    debug: true,
    exitOnCtrlC: false,
  });
  const text = () => stripVTControlCharacters(terminal.frame);
  model.start();
  try {
    await test({
      lines: () => text().split('\n'),
      expectShows: (wanted) => expectEventually(text).toMatch(wanted),
      async press(...keys) {
        for (const key of keys) {
          keyboard.write(key);
          for (let turn = 0; turn < 3; turn++) await nextTurn();
        }
      },
      hold: () => hold,
      told,
      frames: () => terminal.frames,
    });
  } finally {
    model.stop();
    app.unmount();
  }
}

class Terminal extends EventEmitter {
  readonly isTTY = true;
  rows = 0;
  columns = 0;
  frame = '';
  frames = 0;

  write(frame: string, written?: () => void): boolean {
    if (frame !== '') {
      this.frame = frame;
      this.frames++;
    }
    written?.();
    return true;
  }
}
