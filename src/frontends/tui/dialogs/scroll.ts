import { useState } from 'react';
import { moveKeys, type KeyTable } from '../keyboard.ts';

interface Scroll {
  /** The first line that is shown. */
  top: number;
  /** How many lines below were never shown. */
  unread: number;
  keys: KeyTable;
}

/** The place in `count` lines of which `height` are shown at a time, and the keys that move it. */
export function useScroll(count: number, height: number): Scroll {
  const [wanted, setTop] = useState(0);
  const [read, setRead] = useState(0);
  const last = Math.max(0, count - height);
  const top = Math.min(wanted, last);
  const to = (next: (top: number) => number) => () => {
    const at = Math.max(0, Math.min(last, next(top)));
    setTop(at);
    setRead((before) => Math.max(before, at + height));
  };
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
