import { Box, Text } from 'ink';
import type { ReactNode } from 'react';
import { wrapped } from '../terminal/width.ts';
import { useKeys } from './keyboard.ts';
import { useScroll } from './dialogs/dialog.tsx';
import { StyledText } from './styled-text.tsx';

export type Keys = readonly (readonly [keys: string, meaning: string])[];

interface HelpProps {
  keys: Keys;
  rows: number;
  columns: number;
  onLeave: () => void;
}

/** The keys and their meanings, whole, with a scroll where there are more lines than rows. */
export function Help({ keys, rows, columns, onLeave }: HelpProps): ReactNode {
  const width = Math.max(...keys.map(([key]) => key.length)) + 2;
  const lines = keys.flatMap(([key, meaning], at) =>
    wrapped(meaning, columns - width, { trims: true }).map((text, i) => ({
      id: `${at} ${i}`,
      key: i === 0 ? key : '',
      text,
    })),
  );
  const isLong = lines.length > rows;
  const height = isLong ? rows - 1 : rows;
  const { top, unread, keys: moves } = useScroll(lines.length, height);
  useKeys({ ...moves, escape: onLeave, return: onLeave, q: onLeave, '?': onLeave });
  return (
    <Box flexDirection="column" height={rows} overflow="hidden">
      {lines.slice(top, top + height).map(({ id, key, text }) => (
        <Box key={id} height={1} flexShrink={0}>
          <Box width={width} flexShrink={0}>
            <StyledText tone="name">{key}</StyledText>
          </Box>
          <Text wrap="truncate-end">{text}</Text>
        </Box>
      ))}
      {isLong && (
        <StyledText tone="faint">
          {unread > 0 ? `↓ ${unread} more  space next page  G symbols` : '↑ more'}
        </StyledText>
      )}
    </Box>
  );
}
