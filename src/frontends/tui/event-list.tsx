import { Box } from 'ink';
import type { ReactNode } from 'react';
import { EventRow } from './event-row.tsx';
import { type View, visible } from './state.ts';
import { Tint } from './tint.tsx';

/** The visible rows, with empty lines below the last one. */
export function EventList({
  view,
  isLive,
  height,
  columns,
}: {
  view: View;
  isLive: boolean;
  height: number;
  columns: number;
}): ReactNode {
  const { rows, cursor } = visible(view, height);
  return (
    <Box flexDirection="column" height={height} overflow="hidden">
      {rows.length === 0 && isLive && <Tint tone="faint">No events yet</Tint>}
      {rows.map((row, i) => (
        <EventRow
          key={row.key}
          row={row}
          columns={columns}
          isSelected={i === cursor && !view.follows}
          search={view.search}
        />
      ))}
    </Box>
  );
}
