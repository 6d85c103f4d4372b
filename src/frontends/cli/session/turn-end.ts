import type { TurnInEvents } from '../../../api/event-kinds/sessions.ts';
import type { EventOf, RuntimeEventRecord } from '../../../api/events.ts';
import type { Session } from '../../../api/sessions.ts';
import { exitCodes } from '../exit.ts';
import { inOptions } from '../hints.ts';
import { plain } from '../output.ts';

type TurnEnding = EventOf<'turn.completed' | 'turn.interrupted' | 'turn.failed'>;

export function isEnding(event: RuntimeEventRecord): event is TurnEnding {
  return ['turn.completed', 'turn.interrupted', 'turn.failed'].includes(event.kind);
}

/** A line for a turn that did not end well. */
export function howItEnded({ status, error }: Pick<TurnInEvents, 'status' | 'error'>): string {
  if (status === 'completed') return '';
  const how = status === 'failed' ? 'the turn failed' : 'the turn was interrupted';
  return `cadre: ${error ? `${how}: ${plain(inOptions(error.message))}` : how}\n`;
}

/** A line for the requests that were declined because nobody was asked. The error of a turn that failed for one says so. */
export function whatWasDeclined({
  declined_unasked: declined = 0,
  error,
}: Pick<TurnInEvents, 'declined_unasked' | 'error'>): string {
  if (declined === 0 || error?.code === 'permission_required') return '';
  return `cadre: ${countOf(declined)} declined because nobody was asked: to be asked, pass ${FLAG}\n`;
}

export function countOf(requests: number): string {
  return requests === 1 ? '1 request was' : `${requests} requests were`;
}

const FLAG = '--permission-mode require_approval';

/** Exit code for the end of a turn. `mode`: its permission mode; null: nobody has chosen that requests are declined. */
export function exitCodeOf(
  {
    status,
    error,
    declined_unasked: declined = 0,
  }: Pick<TurnInEvents, 'status' | 'error' | 'declined_unasked'>,
  mode: string | null,
): number {
  if (status === 'completed')
    return declined > 0 && mode === null ? exitCodes.refused : exitCodes.ok;
  return error?.code === 'permission_required' ? exitCodes.refused : exitCodes.failed;
}

/** The permission mode that applies to a turn; null: nobody has chosen one. */
export function modeOf(
  turn: { permission_mode?: string | null | undefined },
  session: Pick<Session, 'permission_mode'>,
): string | null {
  return turn.permission_mode ?? session.permission_mode;
}
