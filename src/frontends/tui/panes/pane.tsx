import { Box, Text } from 'ink';
import { type ReactNode, useLayoutEffect, useState } from 'react';
import { AppError } from '../../../api/errors.ts';
import { oneLine } from '../../../core/lib/plain.ts';
import type { Palette } from '../../terminal/palette.ts';
import { padded, truncated } from '../../terminal/width.ts';
import { Lines, useChoice } from '../dialogs/dialog.tsx';
import { moveKeys, useKeys } from '../keyboard.ts';
import { Prompt } from '../prompt.tsx';
import { useObservable } from '../react-hooks.ts';
import type { ConversationModel } from './conversation-model.ts';
import type { LogModel } from './log-model.ts';
import type { PaneModel, PaneProps } from './pane-model.ts';
import type { TeamModel } from './team-model.ts';

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
  footer?: { rows: number; content: ReactNode };
  /** A line between the text and the line of status. */
  aboveFooter?: ReactNode;
  /** Runs ahead of each key of the pane. */
  onKey?: () => void;
  /** Is shown instead of the text, and gets the keys; null for nothing. */
  overlay?: ReactNode;
}

/** A text to read: its lines, a line of status, and the keys to scroll and search. */
export function ReaderPane(props: ReaderPaneProps): ReactNode {
  const { model, rows, columns, isFocused, palette, onHold, keys } = props;
  const { overlay = null, header = [], footer, aboveFooter = null } = props;
  const { reader } = model;
  useObservable(reader.changes);
  const { state } = useObservable(model.connection);
  const [isAsking, setAsking] = useState(false);
  const hasPrompt = isAsking && isFocused;
  const below = (hasPrompt ? 1 : (footer?.rows ?? 1)) + (aboveFooter === null ? 0 : 1);
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
      {aboveFooter}
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
        (footer?.content ?? <StatusLine {...props} />)
      )}
    </Box>
  );
}

function readerKeys({ model, showNotice }: PaneProps, height: number, ask: () => void) {
  const { reader } = model;
  const up = (by: number) => () => {
    reader.scroll(by);
    if (reader.isAtStart()) attempt(model.older(), showNotice);
  };
  const toStart = async () => {
    reader.toStart();
    await model.older();
    // To the top of the blocks that were read now, unless the user has gone to the end meanwhile.
    if (!reader.follows.get()) reader.toStart();
  };
  return {
    ...moveKeys({
      height,
      by: (lines) => (lines > 0 ? () => reader.scroll(lines) : up(lines)),
      toStart: () => attempt(toStart(), showNotice),
      toEnd: () => reader.toEnd(),
    }),
    pageDown: () => reader.scroll(Math.max(1, height - 1)),
    '/': ask,
    n: () => reader.findNext(-1),
    N: () => reader.findNext(1),
    escape: () => reader.find(''),
  };
}

function attempt(work: Promise<void>, showNotice: (text: string) => void): void {
  work.catch((error: unknown) => {
    if (!(error instanceof AppError)) throw error;
    showNotice(oneLine(error.message));
  });
}

/** The last line: the search and its result, else the state of the connection or of the reader. */
function StatusLine(props: ReaderPaneProps): ReactNode {
  const { model, columns, palette, status } = props;
  const connection = useObservable(model.connection);
  const isEnd = useObservable(model.reader.follows);
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
  if (connection.state === 'refused') return oneLine(connection.why);
  return connection.state === 'lost' && connection.isRestart ? 'server restarting' : 'reconnecting';
}

/** The number of matches, and the part of the text that was searched. */
export function searchText(model: PaneModel): string {
  const { index, count } = model.reader.matches();
  const found = count === 0 ? 'not found' : `${index} of ${count}`;
  return `"${oneLine(model.reader.search)}": ${found} ${model.coverage()}`;
}

export function ConversationPane(props: PaneProps<ConversationModel>): ReactNode {
  const { model, rows, columns, isFocused, palette } = props;
  const folded = useObservable(model.folded);
  const [hasOutline, setOutline] = useState(false);
  const step = (direction: 1 | -1) => () => {
    const at = model.promptFrom(direction);
    if (at !== null) model.reader.toBlock(at);
    else if (direction > 0) model.reader.toEnd();
  };
  const keys = {
    t: () => model.fold(),
    '[': step(-1),
    ']': step(1),
    o: () => setOutline(true),
  };
  const choose = (at: number | null) => {
    setOutline(false);
    if (at !== null) model.reader.toBlock(at);
  };
  const outline = hasOutline && isFocused && (
    <Outline
      rows={Math.max(1, rows - 1)}
      columns={columns}
      palette={palette}
      prompts={model.prompts()}
      top={model.reader.top().at}
      onChoose={choose}
    />
  );
  return (
    <ReaderPane
      {...props}
      keys={keys}
      empty="No messages yet"
      status={folded ? 't expand tools  o prompts' : 't collapse tools  o prompts'}
      overlay={outline === false ? null : outline}
    />
  );
}

export function LogPane(props: PaneProps<LogModel>): ReactNode {
  const { model } = props;
  const shown = useObservable(model.shown);
  const ended = useObservable(model.ended);
  const what = shown === 'both' ? 'stdout and stderr' : shown;
  return (
    <ReaderPane
      {...props}
      keys={{ o: () => model.switch() }}
      empty={ended ? 'No output' : 'No output yet'}
      status={`${what}${ended ? ', exited' : ''}  o switch`}
    />
  );
}

/** The members of a team, and below them its messages. */
export function TeamPane(props: PaneProps<TeamModel>): ReactNode {
  const { model, rows, columns, palette } = props;
  useObservable(model.reader.changes);
  const members = model.memberLines({ columns, palette });
  // The messages keep at least half of the pane.
  const room = Math.max(1, Math.floor(rows / 2) - 1);
  const left = members.length - room;
  const header =
    left > 0
      ? [...members.slice(0, room - 1), palette.faint(`and ${left + 1} more members`)]
      : members;
  return (
    <ReaderPane
      {...props}
      header={members.length === 0 ? [] : [...header, palette.faint('─'.repeat(columns))]}
      empty="No messages yet"
      status={model.coverage()}
    />
  );
}

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
function Outline({ rows, columns, palette, prompts, top, onChoose }: OutlineProps): ReactNode {
  const here = Math.max(
    0,
    prompts.findLastIndex(({ at }) => at <= top),
  );
  const { at: chosen, first, keys } = useChoice(prompts.length, rows, here);
  const close = () => onChoose(null);
  const choose = () => onChoose(prompts[chosen]?.at ?? null);
  useKeys({ ...keys, return: choose, escape: close, q: close, o: close });
  if (prompts.length === 0) return <Lines lines={[palette.faint('No prompts loaded')]} />;
  const lines = prompts.slice(first, first + rows).map(({ text }, index) => {
    const isChosen = first + index === chosen;
    const line = `${isChosen ? '>' : ' '} ${text}`;
    return isChosen ? palette.found(padded(line, columns)) : truncated(line, columns);
  });
  return <Lines lines={lines} />;
}
