import { EventEmitter } from 'node:events';
import { PassThrough } from 'node:stream';
import { render } from 'ink';
import { expect, test } from 'vitest';
import { withDemo } from '../../../support/demo-server.ts';
import { systemClock } from '../../../../src/core/lib/clock.ts';
import { paletteFor } from '../../../../src/frontends/terminal/palette.ts';
import { BATCH_MS } from '../../../../src/frontends/tui/follow.ts';
import { ConversationModel } from '../../../../src/frontends/tui/panes/conversation-model.ts';
import { ConversationPane } from '../../../../src/frontends/tui/panes/pane.tsx';
import { atLength, isAtLength } from '../../../support/at-length.ts';
import { expectEventually } from '../../../support/expect-eventually.ts';
import { openSession, runTurn } from '../../../support/turns.ts';

test('Thousands of deltas are shown to their end.', () =>
  flooded(async (terminal) => expect(terminal.written).toContain('tickticktick')));

// The number of frames and their delay depend on the load of the machine.
test.runIf(isAtLength)(
  'Thousands of deltas cost the terminal at most 20 kB, and a pane in which nothing happens costs nothing.',
  () =>
    flooded(async (terminal) => {
      // The last frame may still be due.
      await systemClock.sleep(500);
      const { length } = terminal.written;
      expect(length).toBeLessThan(20_000);
      // Longer than every timer of a pane.
      await systemClock.sleep(2000);
      expect(terminal.written.slice(length)).toBe('');
    }),
);

/** Shows a flood of deltas in a pane, to its end, and calls `check` before the pane is closed. */
function flooded(check: (terminal: Terminal) => Promise<void>): Promise<void> {
  return withDemo(async ({ client, directory }) => {
    const { id } = await openSession(client, directory);
    const terminal = new Terminal();
    const model = new ConversationModel({ client, clock: systemClock, sessionId: id });
    const nothing = () => undefined;
    const place = { rows: 24, columns: 80, palette: paletteFor({ isTTY: true }, {}) };
    const app = render(
      <ConversationPane
        {...place}
        {...{ model, isFocused: true, showNotice: nothing, onHold: nothing }}
      />,
      {
        stdin: keyboard(),
        stdout: terminal as unknown as NodeJS.WriteStream,
        interactive: true,
        alternateScreen: true,
        incrementalRendering: true,
        maxFps: 1000 / BATCH_MS,
        patchConsole: false,
      },
    );
    model.start();
    try {
      await expectEventually(() => terminal.written).toContain('No messages yet');
      const { events } = await runTurn(
        client,
        id,
        `flood ${atLength(2500, 10_000, 10_000)} 64; repeat 3 0 tick`,
      );
      const last = events.at(-1)?.seq ?? 0;
      await expectEventually(() => model.seq.get()).toBeGreaterThanOrEqual(last);
      await expectEventually(() => terminal.written).toContain('tickticktick');
      await check(terminal);
    } finally {
      model.stop();
      app.unmount();
    }
  });
}

function keyboard(): NodeJS.ReadStream {
  const keys = Object.assign(new PassThrough(), { isTTY: true, setRawMode: () => undefined });
  return keys as unknown as NodeJS.ReadStream;
}

/** A stream that stores its input. */
class Terminal extends EventEmitter {
  readonly isTTY = true;
  readonly rows = 24;
  readonly columns = 80;
  written = '';

  write(text: string, done?: () => void): boolean {
    this.written += text;
    done?.();
    return true;
  }
}
