import { type ReactNode, useState } from 'react';
import type { Palette } from '../../terminal/palette.ts';
import { padded, truncated } from '../../terminal/width.ts';
import { moveKeys, useKeys } from '../keyboard.ts';
import { Lines } from './pane.tsx';

interface OutlineProps {
  rows: number;
  columns: number;
  palette: Palette;
  prompts: readonly { at: number; text: string }[];
  /** The block that the reader is at. */
  top: number;
  /** Called with the block of the chosen prompt; with null where none was chosen. */
  onChoose: (at: number | null) => void;
}

/** My prompts as a list, to jump to one. */
export function Outline({
  rows,
  columns,
  palette,
  prompts,
  top,
  onChoose,
}: OutlineProps): ReactNode {
  const last = prompts.length - 1;
  const [chosen, setChosen] = useState(() =>
    Math.max(
      0,
      prompts.findLastIndex(({ at }) => at <= top),
    ),
  );
  const step = (by: number) => () => setChosen((index) => Math.max(0, Math.min(last, index + by)));
  const close = () => onChoose(null);
  useKeys(
    {
      ...moveKeys({
        height: rows,
        by: step,
        toStart: step(-prompts.length),
        toEnd: step(prompts.length),
      }),
      return: () => onChoose(prompts[chosen]?.at ?? null),
      escape: close,
      q: close,
      o: close,
    },
    true,
  );
  if (prompts.length === 0) return <Lines lines={[palette.faint('No prompts loaded')]} />;
  const first = Math.max(0, Math.min(chosen - Math.floor(rows / 2), prompts.length - rows));
  const lines = prompts.slice(first, first + rows).map(({ text }, index) => {
    const isChosen = first + index === chosen;
    const line = `${isChosen ? '>' : ' '} ${text}`;
    return isChosen ? palette.found(padded(line, columns)) : truncated(line, columns);
  });
  return <Lines lines={lines} />;
}
