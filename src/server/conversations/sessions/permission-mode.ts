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
 * Returns the modes of a session that an agent opens in a turn with the modes `own`. They are the same with the same agent.
 * Another agent does not know a mode of the agent's own, which may have been strict: there, a person is asked. `offered`:
 * the agent mode that the operator has configured for such sessions, which is used if no other mode is set.
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
