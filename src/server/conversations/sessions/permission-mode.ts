import type { PermissionMode } from '../../../api/permission-modes.ts';

/**
 * The kind of a permission mode, which decides what cadre's own tools may do for an agent of any provider: it is the
 * column of the tool policy table. `asks` are the modes in which a person decides. Modes that only an agent knows count
 * as `asks`.
 */
export type ModeKind = 'read_only' | 'asks' | 'writes' | 'full';

const kindOf: Record<PermissionMode, ModeKind> = {
  read_only: 'read_only',
  default: 'asks',
  require_approval: 'asks',
  workspace_write: 'writes',
  accept_edits: 'writes',
  full_access: 'full',
  bypass: 'full',
};
const kinds: ReadonlyMap<string, ModeKind> = new Map(Object.entries(kindOf));

/** Returns the kind of a permission mode; null is the mode `default`. */
export function kindOfMode(mode: string | null): ModeKind {
  return kinds.get(mode ?? 'default') ?? 'asks';
}

/** Returns the mode that allows less; the first of two that allow the same. */
export function stricterMode(one: string | null, other: string | null): string | null {
  const order: readonly ModeKind[] = ['read_only', 'asks', 'writes', 'full'];
  return order.indexOf(kindOfMode(other)) < order.indexOf(kindOfMode(one)) ? other : one;
}

/** Returns the mode of a session that an agent in `mode` opens. Other agents do not know a mode of the agent's own. */
export function inheritedMode(mode: string | null, isSameAgent: boolean): string | null {
  const isKnownToAll = mode === null || kinds.has(mode);
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
