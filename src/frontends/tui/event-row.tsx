import { Box, Text } from 'ink';
import { memo, type ReactNode } from 'react';
import { Highlight } from './highlight.tsx';
import type { Row } from './row.ts';
import { Tint, type Tone } from './tint.tsx';

export interface EventRowProps {
  row: Row;
  columns: number;
  isSelected: boolean;
  search: string;
}

/** One line of the list. A text that still grows is cut at its beginning, a complete one at its end. */
export const EventRow = memo(function EventRow(props: EventRowProps): ReactNode {
  const { row, columns, isSelected, search } = props;
  const { seq, time, who, kind } = cells(row, columns);
  return (
    <Box width={columns} height={1}>
      <Box flexShrink={0}>
        <Text bold={isSelected}>{isSelected ? '>' : ' '}</Text>
        <Tint tone="faint">{seq + time}</Tint>
        <Tint tone="name">{who}</Tint>
        <Tint tone={toneOf(row)} bold={isSelected}>
          <Highlight text={kind} search={search} />
        </Tint>
      </Box>
      <Box flexGrow={1} flexShrink={1} minWidth={0}>
        <Text wrap={row.pieces.length > 0 ? 'truncate-start' : 'truncate-end'} bold={isSelected}>
          <Highlight text={row.text} search={search} />
        </Text>
      </Box>
    </Box>
  );
});

/** The columns before the text; a narrow terminal has fewer. Every character in them is one column wide. */
function cells({ first, at, kind, session_id, process_id, team_id }: Row, columns: number) {
  const time = new Date(at).toISOString();
  const whose = (session_id ?? process_id ?? team_id)?.slice(-8) ?? '-';
  return {
    seq: columns < 90 ? '' : `${String(first).padStart(7)} `,
    time: columns < 60 ? '' : ` ${time.slice(11, columns < 110 ? 19 : 23)} `,
    who: columns < 72 ? '' : ` ${whose.padEnd(8)} `,
    kind: ` ${columns < 60 ? shortened(kind, 15) : kind.padEnd(19)} `,
  };
}

function shortened(kind: string, width: number): string {
  return kind.length > width ? `${kind.slice(0, width - 1)}~` : kind.padEnd(width);
}

function toneOf({ kind }: Row): Tone {
  if (/\.(failed|timed_out|killed)$/.test(kind)) return 'bad';
  if (kind === 'approval.requested' || /interrupt|kill_requested|trimmed/.test(kind)) return 'asks';
  if (/^turn\.completed$|^process\.completed$|^approval\./.test(kind)) return 'good';
  return /^(usage|plan|reasoning|runtime)/.test(kind) ? 'faint' : 'plain';
}
