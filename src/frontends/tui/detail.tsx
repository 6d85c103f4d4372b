import { Box, type DOMElement, measureElement, Text } from 'ink';
import { type ReactNode, useState } from 'react';
import type { RuntimeEventRecord } from '../../api/events.ts';
import { plain } from '../../core/lib/plain.ts';
import { useKey } from './keyboard.ts';
import { Tint } from './tint.tsx';

export interface DetailProps {
  /** Null for an event that has left the log. */
  event: RuntimeEventRecord | null;
  rows: number;
  columns: number;
}

/** One event in full, scrollable: its text, then the record. */
export function Detail({ event, rows, columns }: DetailProps): ReactNode {
  const [height, setHeight] = useState(0);
  const [top, setTop] = useState(0);
  const measure = (content: DOMElement | null) => {
    if (content) setHeight(measureElement(content).height);
  };
  const last = Math.max(0, height - rows);
  useKey((_input, key) => {
    const by = key.downArrow
      ? 1
      : key.upArrow
        ? -1
        : key.pageDown
          ? rows - 1
          : key.pageUp
            ? 1 - rows
            : 0;
    if (by !== 0) setTop((from) => Math.max(0, Math.min(last, from + by)));
    if (key.home) setTop(0);
    if (key.end) setTop(last);
  });
  return (
    <Box height={rows} width={columns} overflow="hidden" flexDirection="column">
      <Box ref={measure} flexShrink={0} marginTop={-Math.min(top, last)} flexDirection="column">
        {event ? <Whole event={event} /> : <Text>{GONE}</Text>}
      </Box>
    </Box>
  );
}

const GONE =
  'This event was removed from the log. Streaming deltas are kept for a limited time. The event that ends the stream has the full text.';

function Whole({ event }: { event: RuntimeEventRecord }): ReactNode {
  const text = 'text' in event.payload ? event.payload.text : null;
  return (
    <>
      {typeof text === 'string' && text !== '' && (
        <Box marginBottom={1} flexShrink={0}>
          <Text>{plain(text).replaceAll('\t', '    ')}</Text>
        </Box>
      )}
      <Tint tone="faint">{plain(JSON.stringify(event, null, 2))}</Tint>
    </>
  );
}
