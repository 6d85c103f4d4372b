import { Box, Text } from 'ink';
import type { ReactNode } from 'react';
import { Tint } from '../tint.tsx';
import type { ListView } from './list-state.ts';
import { type Line, layout } from './layout.ts';
import { Row } from './row.tsx';

/** From this width on a row has all its columns in one line. */
const ONE_LINE = 72;
/** A list of fewer lines gives a row one line. */
const ROOMY = 18;

/** The lines that a row has in a list of this size. */
export function rowHeightOf(columns: number, height: number): number {
  return columns < ONE_LINE && height >= ROOMY ? 2 : 1;
}

/** The sections and their rows. */
export function List({
  view,
  isActive,
  marked,
  columns,
  height,
}: {
  view: ListView;
  /** The ids of the rows that are marked. */
  marked: ReadonlySet<string>;
  isActive: boolean;
  columns: number;
  height: number;
}): ReactNode {
  const rowHeight = rowHeightOf(columns, height);
  const lines = layout(view.sections, view.chosen?.id, height, rowHeight);
  return (
    <Box flexDirection="column" width={columns} height={height} flexShrink={0} overflow="hidden">
      {lines.map((line) =>
        'heading' in line ? (
          <Heading key={line.heading.name} line={line} columns={columns} isActive={isActive} />
        ) : (
          <Row
            key={line.thing.id}
            {...line}
            {...{ isActive, columns, rowHeight }}
            isMarked={marked.has(line.thing.id)}
            search={view.filter}
            now={view.now}
          />
        ),
      )}
    </Box>
  );
}

/** The name of a section, how many it has, and which of them are shown where not all are. */
function Heading({
  line: { heading, from, to, isChosen },
  columns,
  isActive,
}: {
  line: Extract<Line, { heading: unknown }>;
  columns: number;
  isActive: boolean;
}): ReactNode {
  const { name, things, isFolded } = heading;
  const count = things.length;
  const shown = isFolded || to - from === count ? String(count) : `${from + 1}-${to} of ${count}`;
  return (
    <Box width={columns} height={1} flexShrink={0}>
      <Tint tone={isActive ? 'name' : 'faint'} bold={isActive}>
        {isChosen ? '▌' : ' '}
      </Tint>
      <Tint tone="name" bold={isChosen}>
        {`${isFolded ? '▸' : '▾'} ${name.toUpperCase()}`}
      </Tint>
      <Text wrap="truncate-end">
        <Tint tone="faint">{` ${shown}`}</Tint>
      </Text>
    </Box>
  );
}
