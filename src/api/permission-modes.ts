import type { LoginProviderId } from './provider-kinds.ts';

/**
 * The permission modes that have the same meaning for every provider. `bypass` is an alias of `full_access`. Agents may
 * have other modes, so a request accepts any text.
 */
export const permissionModes = [
  'default',
  'require_approval',
  'read_only',
  'workspace_write',
  'accept_edits',
  'full_access',
  'bypass',
] as const;
export type PermissionMode = (typeof permissionModes)[number];

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

/** Whether a permission mode has the same meaning for every provider. */
export function isCommonMode(mode: string): boolean {
  return kinds.has(mode);
}

/** Returns the kind of a permission mode; null is the mode `default`. */
export function kindOfMode(mode: string | null): ModeKind {
  return kinds.get(mode ?? 'default') ?? 'asks';
}

/** Returns the mode that allows less; the first of two that allow the same. */
export function stricterMode(one: string | null, other: string | null): string | null {
  const order: readonly ModeKind[] = ['read_only', 'asks', 'writes', 'full'];
  return order.indexOf(kindOfMode(other)) < order.indexOf(kindOfMode(one)) ? other : one;
}

/** The permission modes that a new agent inherits at a handoff. All others allow actions that somebody chose for the old agent only. */
export const inheritedPermissionModes: readonly string[] = [
  'require_approval',
  'read_only',
] satisfies PermissionMode[];

/** Returns the letters of the name of a mode: agents write the same name as `read_only`, `read-only` or `readOnly`. */
export function lettersOfMode(name: string): string {
  return name.toLowerCase().replaceAll(/[^a-z0-9]/g, '');
}

/** The agents' own names of modes that these providers also take as a permission mode. */
export const ownPermissionModes = {
  claude: ['acceptEdits', 'auto', 'bypassPermissions', 'default', 'dontAsk', 'plan'],
  codex: ['untrusted', 'on-request', 'never'],
} as const satisfies Record<LoginProviderId, readonly string[]>;
