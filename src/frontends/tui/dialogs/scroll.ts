import { useState } from 'react';
import { moveKeys, type KeyTable } from '../keyboard.ts';

interface Scroll {
  /** The first line that is shown. */
  top: number;
  /** How many lines below were never shown. */
  unread: number;
  keys: KeyTable;
}

/**
 * The place in `count` lines of which `height` are shown at a time, and the keys that move it. Lines of another `text`
 * were never shown.
 */
export function useScroll(count: number, height: number, text: unknown = null): Scroll {
  const [state, setState] = useState({ text, top: 0, read: 0 });
  const { top: wanted, read } = state.text === text ? state : { top: 0, read: 0 };
  const last = Math.max(0, count - height);
  const top = Math.min(wanted, last);
  const to = (next: (top: number) => number) => () =>
    setState((before) => {
      const from = before.text === text ? before : { top: 0, read: 0 };
      const at = Math.max(0, Math.min(last, next(from.top)));
      return { text, top: at, read: Math.max(from.read, at + height) };
    });
  const by = (lines: number) => to((from) => from + lines);
  return {
    top,
    unread: Math.max(0, count - Math.max(read, top + height)),
    keys: {
      ...moveKeys({ height, by, toStart: to(() => 0), toEnd: to(() => last) }),
      b: by(1 - height),
      ' ': by(height - 1),
    },
  };
}
