import type { TurnOutcome } from '../provider.ts';

export interface Running {
  is: 'running';
  isCancelled: boolean;
  /** Why the turn has to fail, whatever the agent says of it. */
  refused: TurnOutcome | null;
  /** Ends an agent that continues after that. */
  limit: Disposable | null;
}

/**
 * `opening`: the agent may replay the history of a session. `preparing`: the settings of a turn are applied before its
 * prompt is sent. `ignoresMessages`: the agent confirms a setting, so its messages belong to no turn.
 */
export type State = { is: 'idle' } | { is: 'opening'; lastHeardAt: number } | Preparing | Running;

export interface Preparing {
  is: 'preparing';
  ignoresMessages: boolean;
  cancelled: AbortController;
}
