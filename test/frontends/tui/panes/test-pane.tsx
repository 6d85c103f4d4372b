import { onTestFinished } from 'vitest';
import { type ReactNode, useState } from 'react';
import { colorless } from '../../../../src/frontends/terminal/palette.ts';
import { emptyKeyboard, Listeners, useKeyboard } from '../../../../src/frontends/tui/keyboard.ts';
import type { Hold, PaneModel, PaneProps } from '../../../../src/frontends/tui/panes/pane-model.ts';
import { renderToTerminal } from '../test-terminal.ts';

/** A pane on a screen of its own. */
export interface TestPane extends Pick<
  ReturnType<typeof renderToTerminal>,
  'lines' | 'expectShows' | 'press' | 'frames'
> {
  /** The keys that the pane withholds from the frame. */
  hold: () => Hold;
  notices: string[];
}

/** Starts a model and shows its pane until the test has finished. */
export function testPane<Model extends PaneModel>(
  model: Model,
  Pane: (props: PaneProps<Model>) => ReactNode,
  size = { rows: 12, columns: 60 },
): TestPane {
  const notices: string[] = [];
  let hold: Hold = null;
  const onHold = (next: Hold) => (hold = next);
  const showNotice = (text: string) => void notices.push(text);
  function Frame() {
    const [listeners] = useState(() => emptyKeyboard());
    useKeyboard(listeners, () => undefined);
    const place = { ...size, isFocused: true, palette: colorless, showNotice, onHold };
    return (
      <Listeners value={listeners}>
        <Pane model={model} {...place} />
      </Listeners>
    );
  }
  const screen = renderToTerminal(<Frame />, size);
  model.start();
  onTestFinished(() => {
    model.stop();
    screen.end();
  });
  return { ...screen, hold: () => hold, notices };
}
