import { Box, Text } from 'ink';
import { type ReactNode, useEffect, useState } from 'react';
import { rowTextOf } from '../list/row-text.ts';
import type { Thing } from '../list/things.ts';
import { Source } from '../source.ts';
import type { Place } from './place.ts';
import type { Shown } from './shown.ts';

export type Hold = 'all' | 'escape' | null;
export interface Copyable {
  name: string;
  text: string;
}
export interface PaneModel {
  start: () => void;
  stop: () => void;
  seq: Source<number>;
  follows: Source<boolean>;
  copyable: () => Copyable[];
}
export interface PaneSlotProps {
  shown: Shown;
  thing: Thing;
  rows: number;
  columns: number;
  isFocused: boolean;
}

export function usePaneModel(_place: Place, thing: Thing | undefined): PaneModel | null {
  const [model, setModel] = useState<PaneModel | null>(null);
  const id = thing?.id;
  useEffect(() => {
    setModel({
      start: () => undefined,
      stop: () => undefined,
      seq: new Source(1e9),
      follows: new Source(true),
      copyable: () => [{ name: 'id', text: id ?? '' }],
    });
  }, [id]);
  return model;
}

/** The pane of the selected thing. */
export function PaneSlot({ thing, rows, columns, shown }: PaneSlotProps): ReactNode {
  const { title, place, agent, words } = rowTextOf(thing, shown.view.now);
  return (
    <Box flexDirection="column" height={rows} width={columns} overflow="hidden">
      {[title, thing.id, place, agent, words].map((text, i) => (
        <Text key={i} wrap="truncate-end" bold={i === 0}>
          {text}
        </Text>
      ))}
    </Box>
  );
}
