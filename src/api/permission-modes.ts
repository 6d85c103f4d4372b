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
