import { isCommonMode } from '../../../api/permission-modes.ts';

/** Returns the mode of a session that an agent in `mode` opens. Other agents do not know a mode of the agent's own. */
export function inheritedMode(mode: string | null, isSameAgent: boolean): string | null {
  const isKnownToAll = mode === null || isCommonMode(mode);
  return isSameAgent || isKnownToAll ? mode : 'require_approval';
}

export interface Modes {
  mode: string | null;
  agentMode: string | null;
}

/**
 * Returns the modes of a session that an agent opens in a turn with `own`. With the same agent they are the same. To
 * another one a mode of the agent's own means nothing, and it may have been a strict one: a person is asked there.
 * `offered` is a mode of the agent's own that the operator has configured for such sessions. It is used where neither of
 * the modes says what the member may do.
 */
export function inheritedModes(own: Modes, isSameAgent: boolean, offered: string | null): Modes {
  const { mode, agentMode } = own;
  if (agentMode !== null) {
    if (isSameAgent) return own;
    return { mode: mode === 'read_only' ? mode : 'require_approval', agentMode: null };
  }
  const inherited = inheritedMode(mode, isSameAgent);
  const isOpen = inherited === null || inherited === 'default';
  return { mode: inherited, agentMode: isOpen ? offered : null };
}
