import type { World } from './world.ts';

/** The line is written at most this often. */
const EVERY_MS = 100;

/** A progress line on stderr, if that is a terminal. It is erased when it is disposed. */
export function progressLine({ stderr, clock }: World): Disposable & { tell(text: string): void } {
  const isSeen = stderr.isTTY === true;
  let toldAt = Number.NEGATIVE_INFINITY;
  return {
    tell(text) {
      const now = clock.monotonic();
      if (!isSeen || now - toldAt < EVERY_MS) return;
      toldAt = now;
      stderr.write(`\r\u001B[K${text}`);
    },
    [Symbol.dispose]() {
      if (isSeen && toldAt > Number.NEGATIVE_INFINITY) stderr.write('\r\u001B[K');
    },
  };
}
