/**
 * What a permission mode allows to what cadre does for an agent, whichever provider the agent is of. `asks` is every
 * mode in which a person decides; modes that only an agent knows count as that.
 */
export type ModeKind = 'read_only' | 'asks' | 'writes' | 'full';

/** The modes that each provider has, and what each stands for. */
const kinds: ReadonlyMap<string, ModeKind> = new Map([
  ['read_only', 'read_only'],
  ['default', 'asks'],
  ['require_approval', 'asks'],
  ['workspace_write', 'writes'],
  ['accept_edits', 'writes'],
  ['full_access', 'full'],
  ['bypass', 'full'],
]);

/** The kind of a permission mode; null is the mode `default`. */
export function kindOfMode(mode: string | null): ModeKind {
  return kinds.get(mode ?? 'default') ?? 'asks';
}

/**
 * The permission mode of a session that an agent in `mode` opens: the same. An agent's own mode means nothing to
 * another provider, so there the new session asks a person for everything.
 */
export function modeHandedOn(mode: string | null, isSameProvider: boolean): string | null {
  const isKnownToAll = mode === null || kinds.has(mode);
  return isSameProvider || isKnownToAll ? mode : 'require_approval';
}
