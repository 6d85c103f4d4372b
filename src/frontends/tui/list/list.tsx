import { Box, Text } from 'ink';
import { type ReactNode, memo, useContext } from 'react';
import { Colors, StyledText } from '../styled-text.tsx';
import type { ListView } from './list-state.ts';
import { type Line, layout } from './layout.ts';
import { withMatches } from '../../terminal/search.ts';
import { graphemesOf } from '../forms/editor.ts';
import type { ListItem } from './list-items.ts';
import { type RowText, rowTextOf } from './row-text.ts';

/** From this width on a row has all its columns in one line. */
const ONE_LINE = 72;
/** A list of fewer lines gives a row one line. */
const ROOMY = 18;

export function rowHeightOf(columns: number, height: number): number {
  return columns < ONE_LINE && height >= ROOMY ? 2 : 1;
}

interface ListProps {
  view: ListView;
  marked: ReadonlySet<string>;
  /** Whether the keys go to the list, not to the pane. */
  isActive: boolean;
  columns: number;
  height: number;
}

export function List({ view, isActive, marked, columns, height }: ListProps): ReactNode {
  const rowHeight = rowHeightOf(columns, height);
  const lines = layout(view.sections, view.chosen?.id, height, rowHeight);
  return (
    <Box flexDirection="column" width={columns} height={height} flexShrink={0} overflow="hidden">
      {lines.map((line) =>
        'heading' in line ? (
          <Heading key={line.heading.name} line={line} columns={columns} isActive={isActive} />
        ) : (
          <Row
            key={line.item.id}
            {...line}
            {...{ isActive, columns, rowHeight }}
            isMarked={marked.has(line.item.id)}
            search={view.filter}
            now={view.now}
          />
        ),
      )}
    </Box>
  );
}

interface HeadingProps extends Pick<ListProps, 'columns' | 'isActive'> {
  line: Extract<Line, { heading: unknown }>;
}

/** The name of a section, how many it has, and which of them are shown where not all are. */
function Heading({ line, columns, isActive }: HeadingProps): ReactNode {
  const { heading, from, to, isChosen } = line;
  const { name, items, isFolded } = heading;
  const count = items.length;
  const shown = isFolded || to - from === count ? String(count) : `${from + 1}-${to} of ${count}`;
  return (
    <Box width={columns} height={1} flexShrink={0}>
      <StyledText tone={isActive ? 'name' : 'faint'} bold={isActive}>
        {isChosen ? '▌' : ' '}
      </StyledText>
      <StyledText tone="name" bold={isChosen}>
        {`${isFolded ? '▸' : '▾'} ${name.toUpperCase()}`}
      </StyledText>
      <Text wrap="truncate-end">
        <StyledText tone="faint">{` ${shown}`}</StyledText>
      </Text>
    </Box>
  );
}

interface RowProps extends Pick<ListProps, 'columns' | 'isActive'> {
  item: ListItem;
  isChosen: boolean;
  isMarked: boolean;
  rowHeight: number;
  search: string;
  now: number;
}

/** An item in one or two lines. A narrow list has fewer columns. */
const Row = memo(function Row({ item, now, ...rest }: RowProps): ReactNode {
  const text = rowTextOf(item, now);
  return rest.rowHeight === 1 ? <Single {...rest} {...text} /> : <Double {...rest} {...text} />;
});

type Shown = RowText & Omit<RowProps, 'item' | 'now'>;

function Single(row: Shown): ReactNode {
  const { columns, node, isAway, location, agent, age, words } = row;
  const isWide = columns >= ONE_LINE;
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
              <StyledText tone={isAway ? 'bad' : 'name'}>{node}</StyledText>
            </Box>
          )}
          <Box width={Math.floor(left * (node === '' ? 0.22 : 0.16))} flexShrink={0}>
            <StyledText tone="faint" wrap="truncate-start">
              {location}
            </StyledText>
          </Box>
          {columns >= 100 && (
            <Box width={8} flexShrink={0}>
              <StyledText tone="faint">{agent}</StyledText>
            </Box>
          )}
          <Box flexGrow={1} flexShrink={1} minWidth={0}>
            <StyledText tone="faint">{words}</StyledText>
          </Box>
        </Box>
      )}
      <Text>{age.padStart(5)}</Text>
    </Box>
  );
}

function Double(row: Shown): ReactNode {
  const { columns, node, isAway, location, agent, age, words, search } = row;
  // The last message is more useful than the whole path.
  const where = [truncatedStart(location, Math.floor(columns * 0.3)), columns < 48 ? '' : agent];
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
            <StyledText tone={isAway ? 'bad' : 'name'}>{node}</StyledText>
            <StyledText tone="faint">{' · '}</StyledText>
          </Box>
        )}
        <StyledText tone="faint">
          <Highlight
            text={[...where, words].filter((part) => part !== '').join(' · ')}
            search={search}
          />
        </StyledText>
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
function Begin({ isChosen, isActive, isMarked, ...text }: Shown): ReactNode {
  const { symbol, tone, isPinned, isMuted } = text;
  return (
    <Box width={4} flexShrink={0}>
      <StyledText tone={isActive ? 'name' : 'faint'} bold={isActive}>
        {isChosen ? '▌' : ' '}
      </StyledText>
      <StyledText tone={tone}>{symbol}</StyledText>
      <StyledText tone="faint">{isPinned ? '★' : isMuted ? 'm' : ' '}</StyledText>
      <StyledText tone="asks" bold>
        {isMarked ? '*' : ' '}
      </StyledText>
    </Box>
  );
}

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
