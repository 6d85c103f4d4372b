/**
 * The kind of a permission mode, which decides what cadre's own tools may do for an agent of any provider: it is the
 * column in the table of the gate. `asks` are the modes in which a person decides. Modes that only an agent knows count
 * as `asks`.
 */
export type ModeKind = 'read_only' | 'asks' | 'writes' | 'full';

/** The kinds of the modes that cadre knows. */
const kinds: ReadonlyMap<string, ModeKind> = new Map([
  ['read_only', 'read_only'],
  ['default', 'asks'],
  ['require_approval', 'asks'],
  ['workspace_write', 'writes'],
  ['accept_edits', 'writes'],
  ['full_access', 'full'],
  ['bypass', 'full'],
]);

/** Returns the kind of a permission mode; null is the mode `default`. */
export function kindOfMode(mode: string | null): ModeKind {
  return kinds.get(mode ?? 'default') ?? 'asks';
}

/**
 * Returns the permission mode of a session that an agent in `mode` opens: the same mode. A mode that only its agent
 * knows means nothing to another one, so a session there gets `require_approval`.
 */
export function inheritedMode(mode: string | null, isSameAgent: boolean): string | null {
  const isKnownToAll = mode === null || kinds.has(mode);
  return isSameAgent || isKnownToAll ? mode : 'require_approval';
}
