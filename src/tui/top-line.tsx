import { Box, Text } from 'ink';
import type { ReactNode } from 'react';
import type { Approval } from '../api/approvals.ts';
import type { Process } from '../api/processes.ts';
import { oneLine } from '../client/telling.ts';
import { duration } from './duration.ts';
import type { SessionNow } from './overview.ts';
import { Tint, type Tone } from './tint.tsx';
import type { Line } from './top-lines.ts';

/** One line of the overview. */
export function TopLine({
  line,
  isChosen,
  columns,
  now,
}: {
  line: Line;
  isChosen: boolean;
  columns: number;
  now: number;
}): ReactNode {
  if ('heading' in line) return <Tint tone="name">{line.heading.toUpperCase()}</Tint>;
  const parts =
    'approval' in line
      ? ofApproval(line.approval, now)
      : 'process' in line
        ? ofProcess(line.process, now)
        : ofSession(line.now, now);
  const { status, tone, id, age, name, doing } = parts;
  return (
    <Box width={columns} height={1}>
      <Box flexShrink={0}>
        <Text bold={isChosen}>{isChosen ? '> ' : '  '}</Text>
        <Tint tone={tone} bold={isChosen}>
          {status.padEnd(9)}
        </Tint>
        {columns >= 60 && <Tint tone="faint">{` ${id.slice(-8)} `}</Tint>}
        <Text>{age.padStart(5)} </Text>
      </Box>
      <Box flexShrink={0} width={Math.max(8, Math.floor(columns * (doing === '' ? 0.6 : 0.25)))}>
        <Text wrap="truncate-end" bold={isChosen}>
          {name}
        </Text>
      </Box>
      <Box flexShrink={1} flexGrow={1} minWidth={0} marginLeft={1}>
        <Text wrap="truncate-start">{doing}</Text>
      </Box>
    </Box>
  );
}

interface Parts {
  status: string;
  tone: Tone;
  id: string;
  age: string;
  name: string;
  doing: string;
}

function ofApproval({ kind, session_id, created_at, title }: Approval, now: number): Parts {
  const age = duration(now - created_at);
  return { status: kind, tone: 'asks', id: session_id, age, name: oneLine(title), doing: '' };
}

const words = {
  ready: ['ready', 'faint'],
  running: ['running', 'good'],
  waiting_for_approval: ['waits', 'asks'],
  failed: ['failed', 'bad'],
  closed: ['closed', 'faint'],
} as const;

function ofSession({ session, since, doing }: SessionNow, now: number): Parts {
  const { id, provider, title, cwd, failure, updated_at } = session;
  const [status, tone] = words[session.status];
  const last = doing === null ? '' : oneLine(doing.text);
  return {
    status,
    tone,
    id,
    age: duration(now - (since ?? updated_at)),
    name: `${provider} ${oneLine(title ?? cwd)}`,
    doing: failure ? oneLine(failure.message) : session.active_turn_id === null ? '' : last,
  };
}

function ofProcess(process: Process, now: number): Parts {
  const { process_id: id, status, command, started_at, queued_at } = process;
  return {
    status,
    tone: status === 'running' ? 'good' : 'faint',
    id,
    age: duration(now - (started_at ?? queued_at)),
    name: oneLine(command),
    doing: '',
  };
}
