/**
 * The permission modes that mean the same for every provider. `bypass` is another name of `full_access`. An agent may have
 * modes of its own besides, so a request takes any text.
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
