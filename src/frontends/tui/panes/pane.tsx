import { Box, Text } from 'ink';
import { type ReactNode, useLayoutEffect, useState } from 'react';
import { AppError } from '../../../api/errors.ts';
import { oneLine } from '../../../core/lib/plain.ts';
import { truncated } from '../../terminal/width.ts';
import { Lines } from '../dialogs/lines.tsx';
import { moveKeys, useKeys } from '../keyboard.ts';
import { Prompt } from '../prompt.tsx';
import { useSource } from '../react-hooks.ts';
import type { PaneModel, PaneProps } from './pane-model.ts';

interface ReaderPaneProps extends PaneProps {
  /** The keys that only this kind of pane has. */
  keys?: Parameters<typeof useKeys>[0];
  /** Shown instead of an empty text. */
  empty: string;
  /** Left part of the line of status, unless the user searches. */
  status: string;
  /** Lines above the text, which do not scroll. */
  header?: readonly string[];
  /** Takes the place of the line of status. */
  foot?: { rows: number; content: ReactNode };
  /** A line between the text and the line of status. */
  aboveFoot?: ReactNode;
  /** Runs ahead of each key of the pane. */
  onKey?: () => void;
  /** Is shown instead of the text, and gets the keys; null for nothing. */
  overlay?: ReactNode;
}

/** A text to read: its lines, a line of status, and the keys to scroll and search. */
export function ReaderPane(props: ReaderPaneProps): ReactNode {
  const { model, rows, columns, isFocused, palette, onHold, keys } = props;
  const { overlay = null, header = [], foot, aboveFoot = null } = props;
  const { reader } = model;
  useSource(reader.changes);
  const { state } = useSource(model.connection);
  const [isAsking, setAsking] = useState(false);
  const hasPrompt = isAsking && isFocused;
  const below = (hasPrompt ? 1 : (foot?.rows ?? 1)) + (aboveFoot === null ? 0 : 1);
  const height = Math.max(1, rows - header.length - below);
  const lines = reader.lines({ rows: height, columns, palette });
  const hold = hasPrompt || overlay !== null ? 'all' : reader.search === '' ? null : 'escape';
  useLayoutEffect(() => {
    onHold(isFocused ? hold : null);
    return () => onHold(null);
  }, [hold, isFocused, onHold]);
  const own = { ...readerKeys(props, height, () => setAsking(true)), ...keys };
  useKeys(own, isFocused && !hasPrompt && overlay === null, props.onKey);

  return (
    <Box flexDirection="column" width={columns} height={rows} overflow="hidden">
      <Lines lines={header} />
      <Box flexDirection="column" height={height} overflow="hidden">
        {overlay ?? (
          <Lines
            lines={lines.length > 0 ? lines : [palette.faint(state === 'live' ? props.empty : '')]}
          />
        )}
      </Box>
      {aboveFoot}
      {hasPrompt ? (
        <Prompt
          columns={columns}
          question="/"
          initial={reader.search}
          onCancel={() => setAsking(false)}
          onAnswer={(text) => {
            setAsking(false);
            reader.find(text);
          }}
        />
      ) : (
        (foot?.content ?? <StatusLine {...props} />)
      )}
    </Box>
  );
}

function readerKeys({ model, tell }: PaneProps, height: number, ask: () => void) {
  const { reader } = model;
  const up = (by: number) => () => {
    reader.scroll(by);
    if (reader.isAtStart()) attempt(model.older(), tell);
  };
  const toStart = async () => {
    reader.toStart();
    await model.older();
    // To the top of what was read now, unless somebody has gone to the end meanwhile.
    if (!reader.follows.get()) reader.toStart();
  };
  return {
    ...moveKeys({
      height,
      by: (lines) => (lines > 0 ? () => reader.scroll(lines) : up(lines)),
      toStart: () => attempt(toStart(), tell),
      toEnd: () => reader.toEnd(),
    }),
    pageDown: () => reader.scroll(Math.max(1, height - 1)),
    '/': ask,
    n: () => reader.findNext(-1),
    N: () => reader.findNext(1),
    escape: () => reader.find(''),
  };
}

function attempt(work: Promise<void>, tell: (text: string) => void): void {
  work.catch((error: unknown) => {
    if (!(error instanceof AppError)) throw error;
    tell(oneLine(error.message));
  });
}

/** The last line: what was searched and found, else the state of the connection or of the reader. */
function StatusLine(props: ReaderPaneProps): ReactNode {
  const { model, columns, palette, status } = props;
  const connection = useSource(model.connection);
  const isEnd = useSource(model.follows);
  const isSearching = model.reader.search !== '';
  const left = isSearching ? searchText(model) : status;
  const below = isEnd || isSearching ? '' : 'more below (G)';
  const right = connection.state === 'live' ? below : describe(connection);
  const room = columns - (right === '' ? 0 : right.length + 2);
  return (
    <Box width={columns} height={1} justifyContent="space-between">
      <Text wrap="truncate-end">{palette.faint(truncated(left, room)) || ' '}</Text>
      <Text wrap="truncate-end">{palette.warn(truncated(right, columns))}</Text>
    </Box>
  );
}

function describe(connection: ReturnType<PaneModel['connection']['get']>): string {
  if (connection.state === 'reading') return 'loading';
  return connection.state === 'refused' ? oneLine(connection.why) : 'reconnecting';
}

/** The number of matches, and the part of the text that was searched. */
export function searchText(model: PaneModel): string {
  const { index, count } = model.reader.matches();
  const found = count === 0 ? 'not found' : `${index} of ${count}`;
  return `"${oneLine(model.reader.search)}": ${found} ${model.coverage()}`;
}
