import type { Approval } from '../../api/approvals.ts';
import type { Process } from '../../api/processes.ts';
import type { Session } from '../../api/sessions.ts';
import type { Listing } from '../../client/listing.ts';
import { hasFailedTurn } from '../../client/last-turn.ts';
import { type Layout, TURN_FAILED } from './layout.ts';
import { ago, listOf, shortId } from './output.ts';

export function listedTables(
  { approvals, sessions, processes }: Pick<Listing, 'approvals' | 'sessions' | 'processes'>,
  at: { now: number; layout: Layout },
): string[] {
  return [approvalTable(approvals, at), sessionTable(sessions, at), processTable(processes, at)];
}

const approvalTable = listOf<Approval>(
  ['APPROVAL', 'SESSION', 'KIND', 'AGE', 'TITLE'],
  ({ id, session_id, kind, created_at, title }, now) => [
    shortId(id),
    shortId(session_id),
    kind,
    ago(created_at, now),
    title,
  ],
);

const sessionTable = listOf<Session>(
  ['SESSION', 'PROVIDER', 'STATUS', 'AGE', 'ACTIVE', 'TITLE', 'CWD'],
  (one, now) => [
    shortId(one.id),
    one.provider,
    hasFailedTurn(one) ? TURN_FAILED : one.status,
    ago(one.created_at, now),
    ago(one.last_activity_at, now),
    one.title ?? '-',
    one.cwd,
  ],
);

const processTable = listOf<Process>(
  ['PROCESS', 'STATUS', 'AGE', 'COMMAND'],
  ({ process_id, status, queued_at, command }, now) => [
    shortId(process_id),
    status,
    ago(queued_at, now),
    command,
  ],
);
