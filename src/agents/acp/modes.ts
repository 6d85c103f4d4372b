import type { TurnSettings } from '../provider.ts';
import type { AgentModes } from './catalogue-entry.ts';

/** Modes that have two names: an agent may know either. */
const aliases: Readonly<Record<string, string>> = {
  accept_edits: 'workspace_write',
  workspace_write: 'accept_edits',
  bypass: 'full_access',
  full_access: 'bypass',
};

/**
 * The mode that an agent has to be in for the settings; null: the one that the session began with. `agent_mode` is the
 * agent's own name for it. `permission_mode` says who is asked, and names a mode of the agent besides: the one that
 * `modes` says, else the agent's mode of that name. Nothing is named by `default`, nor by `require_approval` where it is
 * not known in which mode the agent asks. A name that the agent does not offer is returned as it is.
 */
export function modeFor(
  { agentMode, permissionMode: mode }: Pick<TurnSettings, 'agentMode' | 'permissionMode'>,
  modes: AgentModes,
  offered: readonly string[],
): string | null {
  if (agentMode !== null) return agentMode;
  if (mode === null || mode === 'default') return null;
  const alias = aliases[mode];
  const byName: Readonly<Record<string, string | undefined>> = modes;
  const said = byName[mode] ?? (alias === undefined ? undefined : byName[alias]);
  if (said !== undefined && offered.includes(said)) return said;
  if (mode === 'require_approval') return null;
  return (
    offered.find((one) => one === mode) ??
    offered.find((one) => one === alias) ??
    offered.find((one) => isSameName(one, mode)) ??
    offered.find((one) => alias !== undefined && isSameName(one, alias)) ??
    mode
  );
}

/** Agents write the same name as `read_only`, `read-only` or `readOnly`. */
function isSameName(one: string, other: string): boolean {
  return plainName(one) === plainName(other);
}

function plainName(name: string): string {
  return name.toLowerCase().replaceAll(/[^a-z0-9]/g, '');
}
