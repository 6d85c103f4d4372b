import type { TurnInEvents } from '../api/event-kinds/sessions.ts';
import type { Turn, Usage } from '../api/sessions.ts';

const finalStatuses: ReadonlySet<Turn['status']> = new Set(['completed', 'interrupted', 'failed']);

/** A turn that was just accepted. */
export function newTurn(
  given: Pick<Turn, 'turn_id' | 'session_id' | 'source' | 'input' | 'accepted_at'> &
    Partial<Pick<Turn, 'permission_mode' | 'model' | 'thinking_effort'>>,
): Turn {
  return {
    status: 'accepted',
    permission_mode: null,
    model: null,
    thinking_effort: null,
    text: null,
    usage: null,
    error: null,
    provider_turn_ref: null,
    started_at: null,
    ended_at: null,
    interrupt_requested_at: null,
    trimmed: false,
    ...given,
  };
}

/** Whether a turn has ended. Its ending is final: a second one changes nothing. */
export function hasEnded(turn: Turn): boolean {
  return finalStatuses.has(turn.status);
}

/** The turn once an agent is about to see it. */
export function startTurn(turn: Turn, now: number): Turn {
  return { ...turn, status: 'running', started_at: now };
}

/** How a turn ended, in the words of the record. */
export interface TurnEnd {
  status: 'completed' | 'interrupted' | 'failed';
  error: { code: string; message: string } | null;
}

export function finishTurn(
  turn: Turn,
  end: TurnEnd,
  left: { text: string | null; usage: Usage | null },
  now: number,
): Turn {
  return {
    ...turn,
    status: end.status,
    error: end.error,
    text: left.text,
    usage: left.usage,
    ended_at: now,
  };
}

/**
 * The turn as events carry it after its acceptance: without its input, and without its text, which its last
 * `message.completed` has.
 */
export function turnInEvents({ input: _input, text: _text, ...turn }: Turn): TurnInEvents {
  return turn;
}

export const noUsage: Usage = {
  input_tokens: null,
  output_tokens: null,
  cached_input_tokens: null,
  total_tokens: null,
  context_tokens: null,
  context_window: null,
  cost_usd: null,
};
