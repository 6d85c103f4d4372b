import type { TurnInEvents } from '../../../api/event-kinds/sessions.ts';
import type { Turn, Usage } from '../../../api/sessions.ts';

const finalStatuses: ReadonlySet<Turn['status']> = new Set(['completed', 'interrupted', 'failed']);

export function newTurn(
  fields: Pick<Turn, 'turn_id' | 'session_id' | 'source' | 'input' | 'accepted_at'> &
    Partial<Pick<Turn, 'permission_mode' | 'agent_mode' | 'model' | 'thinking_effort'>>,
): Turn {
  return {
    status: 'accepted',
    permission_mode: null,
    agent_mode: null,
    model: null,
    thinking_effort: null,
    text: null,
    usage: null,
    declined_unasked: 0,
    error: null,
    provider_turn_ref: null,
    started_at: null,
    ended_at: null,
    interrupt_requested_at: null,
    trimmed: false,
    ...fields,
  };
}

/** Whether a turn has ended, which is final. */
export function hasEnded(turn: Turn): boolean {
  return finalStatuses.has(turn.status);
}

/** Returns the turn as running, because an agent is about to see it. */
export function startTurn(turn: Turn, now: number): Turn {
  return { ...turn, status: 'running', started_at: now };
}

export interface TurnEnd {
  status: 'completed' | 'interrupted' | 'failed';
  error: { code: string; message: string } | null;
}

export function withTurnEnd(
  turn: Turn,
  end: TurnEnd,
  output: Pick<Turn, 'text' | 'usage' | 'agent_turn_ref'>,
  now: number,
): Turn {
  return { ...turn, ...end, ...output, ended_at: now };
}

/** Returns the turn for later events: `turn.accepted` has its input, and its last `message.completed` its text. */
export function turnInEvents({ input: _input, text: _text, ...turn }: Turn): TurnInEvents {
  return turn;
}

export function acceptance({ session_id, turn_id }: Turn) {
  return { session_id, turn_id, status: 'accepted' as const };
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
