import { Text } from 'ink';
import { type ReactNode, useState } from 'react';
import { type KeyTable, moveKeys } from '../keyboard.ts';
import { Tint } from '../tint.tsx';

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
    by: (by) => () => to(clamped(at + by)),
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
        <Tint tone="name">{isChosen ? '▌' : ' '}</Tint>
        {children}
      </Text>
      <Tint tone="faint">{detail}</Tint>
    </Text>
  );
}
