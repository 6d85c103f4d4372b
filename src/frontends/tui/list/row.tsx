import { Box, Text } from 'ink';
import { type ReactNode, memo, useContext } from 'react';
import { withMatches } from '../../terminal/search.ts';
import { graphemesOf } from '../forms/editor.ts';
import { Colors } from '../palette.ts';
import { Tint } from '../tint.tsx';
import type { ListItem } from './list-items.ts';
import { type RowText, rowTextOf } from './row-text.ts';

interface RowProps {
  thing: ListItem;
  isChosen: boolean;
  /** Whether the keys go to the list, not to the pane. */
  isActive: boolean;
  isMarked: boolean;
  columns: number;
  rowHeight: number;
  search: string;
  now: number;
}

/** An item in one or two lines. A narrow list has fewer columns. */
export const Row = memo(function Row({ thing, now, ...rest }: RowProps): ReactNode {
  const text = rowTextOf(thing, now);
  return rest.rowHeight === 1 ? <Single {...rest} {...text} /> : <Double {...rest} {...text} />;
});

type Shown = RowText & Omit<RowProps, 'thing' | 'now'>;

function Single(row: Shown): ReactNode {
  const { columns, node, isAway, place, agent, age, words } = row;
  const isWide = columns >= 72;
  const left = columns - 9;
  return (
    <Box width={columns} height={1}>
      <Begin {...row} />
      <Box width={isWide ? Math.floor(left * 0.36) : left} flexShrink={0}>
        <Title {...row} />
      </Box>
      {isWide && (
        <Box width={left - Math.floor(left * 0.36)} flexShrink={0} columnGap={1} paddingLeft={1}>
          {node !== '' && (
            <Box width={Math.floor(left * 0.12)} flexShrink={0}>
              <Tint tone={isAway ? 'bad' : 'name'} wrap="truncate-end">
                {node}
              </Tint>
            </Box>
          )}
          <Box width={Math.floor(left * (node === '' ? 0.22 : 0.16))} flexShrink={0}>
            <Tint tone="faint" wrap="truncate-start">
              {place}
            </Tint>
          </Box>
          {columns >= 100 && (
            <Box width={8} flexShrink={0}>
              <Tint tone="faint" wrap="truncate-end">
                {agent}
              </Tint>
            </Box>
          )}
          <Box flexGrow={1} flexShrink={1} minWidth={0}>
            <Tint tone="faint" wrap="truncate-end">
              {words}
            </Tint>
          </Box>
        </Box>
      )}
      <Text>{age.padStart(5)}</Text>
    </Box>
  );
}

function Double(row: Shown): ReactNode {
  const { columns, node, isAway, place, agent, age, words, search } = row;
  // The last message is more useful than the whole path.
  const where = [truncatedStart(place, Math.floor(columns * 0.3)), columns < 48 ? '' : agent];
  return (
    <Box width={columns} height={2} flexDirection="column">
      <Box height={1}>
        <Begin {...row} />
        <Box width={columns - 9} flexShrink={0}>
          <Title {...row} />
        </Box>
        <Text>{age.padStart(5)}</Text>
      </Box>
      <Box height={1} paddingLeft={4}>
        {node !== '' && (
          <Box flexShrink={0}>
            <Tint tone={isAway ? 'bad' : 'name'}>{node}</Tint>
            <Tint tone="faint">{' · '}</Tint>
          </Box>
        )}
        <Tint tone="faint" wrap="truncate-end">
          <Highlight
            text={[...where, words].filter((part) => part !== '').join(' · ')}
            search={search}
          />
        </Tint>
      </Box>
    </Box>
  );
}

/** The end of a path, which distinguishes it better than the start. */
function truncatedStart(text: string, columns: number): string {
  const pieces = graphemesOf(text);
  return pieces.length <= columns ? text : `…${pieces.slice(1 - columns).join('')}`;
}

/** The mark of the chosen row and the symbol of its state: 4 columns. */
function Begin({
  isChosen,
  isActive,
  isMarked,
  symbol,
  tone,
  isPinned,
  isMuted,
}: Shown): ReactNode {
  return (
    <Box width={4} flexShrink={0}>
      <Tint tone={isActive ? 'name' : 'faint'} bold={isActive}>
        {isChosen ? '▌' : ' '}
      </Tint>
      <Tint tone={tone}>{symbol}</Tint>
      <Tint tone="faint">{isPinned ? '★' : isMuted ? 'm' : ' '}</Tint>
      <Tint tone="asks" bold>
        {isMarked ? '*' : ' '}
      </Tint>
    </Box>
  );
}

/** A text with every match of a search marked. */
function Highlight({ text, search }: { text: string; search: string }): ReactNode {
  const { found } = useContext(Colors);
  return withMatches(text, search, found);
}

function Title({ title, isBold, isChosen, isActive, search }: Shown): ReactNode {
  return (
    <Text wrap="truncate-end" bold={isBold || (isChosen && isActive)}>
      <Highlight text={title} search={search} />
    </Text>
  );
}
