import { Box, Text } from 'ink';
import { type ReactNode, useState } from 'react';
import { type KeyTable, moveKeys } from '../keyboard.ts';
import { StyledText } from '../styled-text.tsx';

interface FrameProps {
  rows: number;
  children: ReactNode;
  /** The last line: the keys, or a question. A string is faint. */
  footer: ReactNode;
}

/** The lines of a dialog, and its last line at the bottom. */
export function Frame({ rows, children, footer }: FrameProps): ReactNode {
  return (
    <Box flexDirection="column" height={rows} overflow="hidden">
      {children}
      <Box flexGrow={1} />
      {typeof footer === 'string' ? <StyledText tone="faint">{footer}</StyledText> : footer}
    </Box>
  );
}

interface LinesProps {
  lines: readonly string[];
  top?: number;
  height?: number;
}

/** The lines from `top` on that fit into `height`. The lines may contain colours, and have to fit the width. */
export function Lines({ lines, top = 0, height = lines.length }: LinesProps): ReactNode {
  const shown = lines.slice(top, top + height).map((line, i) => ({ at: top + i, line }));
  return (
    <Box flexDirection="column" height={height} flexShrink={0} overflow="hidden">
      {shown.map(({ at, line }) => (
        <Box key={at} height={1} flexShrink={0}>
          <Text wrap="truncate-end">{line === '' ? ' ' : line}</Text>
        </Box>
      ))}
    </Box>
  );
}

interface Scroll {
  /** The first line that is shown. */
  top: number;
  /** How many lines below were never shown. */
  unread: number;
  keys: KeyTable;
}

/**
 * The position in `count` lines of which `height` are shown at a time, and the keys that move it. Lines of another
 * `text` were never shown.
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

interface Choice {
  /** The index of the chosen item, and of the first visible one. */
  at: number;
  first: number;
  to: (index: number) => void;
  keys: KeyTable;
  /** The keys that a text field leaves to the list. */
  arrows: KeyTable;
}

/** The choice of one of `count` items, of which `height` are visible, with the choice in the middle. */
export function useChoice(count: number, height: number, initial = 0): Choice {
  const [wanted, to] = useState(initial);
  const clamped = (index: number) => Math.max(0, Math.min(index, count - 1));
  const at = clamped(wanted);
  const keys = moveKeys({
    height,
    // Several keys may arrive before the first of them is drawn.
    by: (by) => () => to((now) => clamped(clamped(now) + by)),
    toStart: () => to(0),
    toEnd: () => to(clamped(count - 1)),
  });
  const { upArrow, downArrow, pageUp, pageDown } = keys;
  const first = Math.max(0, Math.min(at - Math.floor(height / 2), count - height));
  return { at, first, to, keys, arrows: { upArrow, downArrow, pageUp, pageDown } };
}

interface ChoiceLineProps {
  isChosen: boolean;
  children: ReactNode;
  detail?: string;
}

/** An item of a list, with a mark if it is chosen, and a detail that is less important. */
export function ChoiceLine({ isChosen, children, detail = '' }: ChoiceLineProps): ReactNode {
  return (
    <Text wrap="truncate-end">
      <Text bold={isChosen}>
        <StyledText tone="name">{isChosen ? '▌' : ' '}</StyledText>
        {children}
      </Text>
      <StyledText tone="faint">{detail}</StyledText>
    </Text>
  );
}
