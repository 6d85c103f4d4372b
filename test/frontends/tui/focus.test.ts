import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import { takeTerminal } from '../../../src/frontends/tui/terminal.ts';
import { expectEventually } from '../../support/expect-eventually.ts';
import { ManualClock } from '../../support/manual-clock.ts';

/** A terminal that the test types into. */
function typedInto() {
  const clock = new ManualClock();
  const [stdin, stdout] = [new PassThrough(), new PassThrough()];
  stdout.resume();
  const streams = { stdin, stdout } as unknown as {
    stdin: NodeJS.ReadStream;
    stdout: NodeJS.WriteStream;
  };
  const terminal = takeTerminal({ ...streams, env: {}, clock });
  terminal.listen();
  return { clock, terminal, type: (keys: string) => void stdin.write(keys) };
}

test('A terminal that never reports its focus has the focus for a minute after each key.', async () => {
  const { clock, terminal, type } = typedInto();
  using taken = terminal;
  expect(taken.hasFocus.get()).toBe(true);
  clock.advance(59_999);
  expect(taken.hasFocus.get()).toBe(true);
  clock.advance(1);
  expect(taken.hasFocus.get()).toBe(false);
  type('j');
  await expectEventually(() => taken.hasFocus.get()).toBe(true);
  clock.advance(60_000);
  expect(taken.hasFocus.get()).toBe(false);
});

test('The reports of a terminal count from the first one on, and keys no longer do.', async () => {
  const { clock, terminal, type } = typedInto();
  using taken = terminal;
  type('\u001B[O');
  await expectEventually(() => taken.hasFocus.get()).toBe(false);
  type('j\u001B[I');
  await expectEventually(() => taken.hasFocus.get()).toBe(true);
  clock.advance(600_000);
  expect(taken.hasFocus.get()).toBe(true);
  type('\u001B[O');
  await expectEventually(() => taken.hasFocus.get()).toBe(false);
});
