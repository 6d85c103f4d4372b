import { EventEmitter } from 'node:events';
import { PassThrough } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { stripVTControlCharacters } from 'node:util';
import { render } from 'ink';
import type { ReactNode } from 'react';
import { expectEventually } from '../../support/expect-eventually.ts';

export interface Size {
  rows: number;
  columns: number;
}

/** Draws an element on a terminal that keeps the last frame, with a keyboard to type on. */
export function renderToTerminal(element: ReactNode, size: Size) {
  const terminal = Object.assign(new Terminal(), size);
  const keyboard = Object.assign(new PassThrough(), { isTTY: true, setRawMode: () => undefined });
  const app = render(element, {
    stdin: keyboard as unknown as NodeJS.ReadStream,
    stdout: terminal as unknown as NodeJS.WriteStream,
    interactive: true,
    // Hands over each frame whole, with nothing that moves a cursor.
    debug: true,
    exitOnCtrlC: false,
  });
  const text = () => stripVTControlCharacters(terminal.frame);
  const type = async (typed: string) => {
    keyboard.write(typed);
    // As from a terminal: the next key is read after this one was handled.
    for (let turn = 0; turn < 3; turn++) await nextTurn();
  };
  const expectShows = (wanted: string | RegExp) => expectEventually(text).toMatch(wanted);
  const expectHides = (wanted: string) => expectEventually(text).not.toContain(wanted);
  const pressAll = async (typed: readonly string[]) => {
    for (const key of typed) await type(key);
  };
  return {
    keyboard,
    end: () => app.unmount(),
    frames: () => terminal.frames,
    lines: () => text().split('\n'),
    expectShows,
    expectHides,
    /** Presses keys; `press('x').shows('y')` then waits until the screen shows a text. */
    press(...keys: string[]) {
      const pressed = pressAll(keys);
      return Object.assign(pressed, {
        shows: (wanted: string | RegExp) => pressed.then(() => expectShows(wanted)),
        hides: (wanted: string) => pressed.then(() => expectHides(wanted)),
      });
    },
    /** Pastes a text, as a terminal with bracketed paste does. */
    paste: (pasted: string) => type(`\u001B[200~${pasted}\u001B[201~`),
    resize(next: Size) {
      Object.assign(terminal, next);
      terminal.emit('resize');
    },
  };
}

class Terminal extends EventEmitter {
  readonly isTTY = true;
  rows = 0;
  columns = 0;
  frame = '';
  frames = 0;

  write(frame: string, written?: () => void): boolean {
    // At its end ink writes an empty frame, to wait for all frames before.
    if (frame !== '') {
      this.frame = frame;
      this.frames++;
    }
    written?.();
    return true;
  }
}
