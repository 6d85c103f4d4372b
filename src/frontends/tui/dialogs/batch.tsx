import { Box, Text } from 'ink';
import type { ReactNode } from 'react';
import { type KeyTable, useKeys } from '../keyboard.ts';
import { rowTextOf } from '../list/row-text.ts';
import { type Batch, carriedOut, countFor } from '../screen/batch.ts';
import type { DialogProps } from '../screen/screen-context.ts';
import { StyledText } from '../styled-text.tsx';
import { Frame, useScroll } from './dialog.tsx';

interface BatchDialogProps extends DialogProps {
  batch: Batch;
  now: number;
  /** Called with the ids of the rows whose change has failed. */
  onDone: (failed: readonly string[]) => void;
}

/** Lists the rows that one answer changes. Nothing is changed before the last row was shown. */
export function BatchDialog(props: BatchDialogProps): ReactNode {
  const { batch, notices, now, rows, columns, onDone, onLeave } = props;
  const height = Math.max(1, rows - 3);
  const { top, unread, keys } = useScroll(batch.rows.length, height);
  const offers = Object.entries(batch.verbs).flatMap(([key, { label }]) => {
    const count = countFor(batch, key);
    return count === 0 ? [] : [{ key, label: `${key} ${label} ${count}` }];
  });
  const carryOut = async (key: string) => {
    const { text, failed } = await carriedOut(batch, key);
    onDone(failed);
    notices.showNotice(text);
  };
  const answers: KeyTable = Object.fromEntries(
    offers.map(({ key }) => [
      key,
      () => {
        if (unread > 0) return notices.showNotice(`not yet: ${unread} more below`);
        onLeave();
        notices.attempt(carryOut(key));
      },
    ]),
  );
  useKeys({ ...keys, ...answers, n: onLeave, escape: onLeave, q: onLeave });
  const effectColumns = Math.max(10, Math.floor(columns * 0.3));
  const footer =
    unread > 0 ? (
      `↓ ${unread} more  space next page`
    ) : (
      <StyledText tone="asks">
        {[...offers.map(({ label }) => label), 'n cancel'].join('  ')}
      </StyledText>
    );
  return (
    <Frame rows={rows} footer={footer}>
      <Text bold>{batch.title}</Text>
      {batch.rows.slice(top, top + height).map(({ item, effect, answers: own }) => {
        const { symbol, tone, title, location } = rowTextOf(item, now);
        return (
          <Box key={item.id} height={1} flexShrink={0}>
            <Box flexGrow={1} flexShrink={1} minWidth={0}>
              <Text wrap="truncate-end">
                <StyledText tone={tone}>{` ${symbol} `}</StyledText>
                {title}
                <StyledText tone="faint">{`  ${location}`}</StyledText>
              </Text>
            </Box>
            <Box width={effectColumns} flexShrink={0} paddingLeft={1}>
              <StyledText tone={own.length === 0 ? 'faint' : 'asks'}>{effect}</StyledText>
            </Box>
          </Box>
        );
      })}
    </Frame>
  );
}
