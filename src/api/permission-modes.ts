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
