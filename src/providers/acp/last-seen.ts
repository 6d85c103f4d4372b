import type { AuthStatus, Model } from '../../api/providers.ts';

/**
 * What was last seen of an agent by any of its processes, so that it can be told without starting one. It is empty when
 * the server starts.
 */
export interface LastSeen {
  models: readonly Model[];
  /** Null: none of its processes has said anything of its login. */
  auth: AuthStatus | null;
}

export function nothingSeen(): LastSeen {
  return { models: [], auth: null };
}
