import type { TurnOutcome } from '../provider.ts';
import type { TurnError } from './outcome.ts';

/** A turn of a thread. */
export interface ThreadTurn {
  /** Null until codex has named the turn. */
  id: string | null;
  /** Whether codex has said that the turn began: before that it refuses to interrupt it. */
  hasBegun: boolean;
  /** Null for a turn that the agent did not begin, such as one that a resumed thread is still at. */
  readonly own: OwnTurn | null;
  /** Resolves when the thread is at the turn no longer. */
  readonly over: PromiseWithResolvers<void>;
}

/** What belongs to a turn that the agent was prompted for. */
interface OwnTurn {
  readonly outcome: PromiseWithResolvers<TurnOutcome>;
  /** The newest error that codex has reported. */
  error: TurnError | null;
  /** Whether the agent makes way for another one after it. */
  isLast: boolean;
}

/** What a thread is at: `starting` lasts until codex has named the turn. */
export interface AtTurn {
  is: 'starting' | 'running';
  turn: ThreadTurn;
}

/** `leaving`: the agent is of no use any more, and its thread is still at a turn. `over`: it has left the thread. */
export type AgentState = { is: 'idle' } | AtTurn | { is: 'leaving'; at: AtTurn } | { is: 'over' };

export function ownTurn(): ThreadTurn & { own: OwnTurn } {
  const own = { outcome: Promise.withResolvers<TurnOutcome>(), error: null, isLast: false };
  return { ...foreignTurn(), own };
}

/** A turn that the agent did not begin. */
export function foreignTurn(): ThreadTurn {
  return { id: null, hasBegun: false, own: null, over: Promise.withResolvers() };
}
