import type { Session, Turn } from '../../../api/sessions.ts';
import type { TurnSettings } from '../../../agents/provider.ts';
import type { InputItem } from '../../../api/input.ts';
import type { McpServer } from '../../../api/mcp-servers.ts';
import { providerKinds } from '../../../api/provider-kinds.ts';
import { invalidError } from '../../../api/errors.ts';

type RequestedSettings = Pick<Turn, 'permission_mode' | 'agent_mode' | 'model' | 'thinking_effort'>;

/** Returns the settings in a request, with null for each that it omits. */
export function requestedSettings({
  permission_mode,
  agent_mode,
  model,
  thinking_effort,
}: { [K in keyof RequestedSettings]?: RequestedSettings[K] | undefined }): RequestedSettings {
  return {
    permission_mode: permission_mode ?? null,
    agent_mode: agent_mode ?? null,
    model: model ?? null,
    thinking_effort: thinking_effort ?? null,
  };
}

/**
 * Returns the settings of a turn: those it requests, else the session's. A `permission_mode` of the turn sets aside the
 * `agent_mode` of the session, because the newer setting decides.
 */
export function settingsOf(session: RequestedSettings, turn: RequestedSettings): TurnSettings {
  return {
    permissionMode: turn.permission_mode ?? session.permission_mode,
    agentMode: turn.agent_mode ?? (turn.permission_mode === null ? session.agent_mode : null),
    model: turn.model ?? session.model,
    thinkingEffort: turn.thinking_effort ?? session.thinking_effort,
  };
}

/** Returns changed settings; undefined changes nothing. A `permission_mode` alone sets aside the `agent_mode`. */
export function changedSettings(
  session: RequestedSettings,
  change: { [K in keyof RequestedSettings]?: RequestedSettings[K] | undefined },
): RequestedSettings {
  const newest = <K extends keyof RequestedSettings>(name: K) =>
    change[name] === undefined ? session[name] : change[name];
  const isSetAside = change.agent_mode === undefined && typeof change.permission_mode === 'string';
  return {
    permission_mode: newest('permission_mode'),
    agent_mode: isSetAside ? null : newest('agent_mode'),
    model: newest('model'),
    thinking_effort: newest('thinking_effort'),
  };
}

/** Returns the turn with the settings of its session as its own, so that a change of the session leaves it as it is. */
export function withOwnSettings(session: Session, turn: Turn): Turn {
  const { permissionMode, agentMode, model, thinkingEffort } = settingsOf(session, turn);
  // The mode `default` is the same as none, and is not looked up in the session.
  const permission_mode = permissionMode ?? 'default';
  return {
    ...turn,
    permission_mode,
    agent_mode: agentMode,
    model,
    thinking_effort: thinkingEffort,
  };
}

/** Throws `invalid` for MCP servers that no agent of the provider could use. */
export function assertMcpServers(
  provider: Session['provider'],
  servers: readonly McpServer[],
): void {
  const taken: readonly McpServer['type'][] = providerKinds[provider].mcpServers;
  const refused = servers.find(({ type }) => !taken.includes(type));
  if (!refused) return;
  const { type, name } = refused;
  throw invalidError(
    `body.mcp_servers: provider ${provider} does not support MCP servers over ${type}: leave out server "${name}"`,
  );
}

/** Throws `invalid` for input with images, unless the provider supports images. Text asks no agent kind for support. */
export function assertImages(
  provider: Session['provider'],
  input: InputItem | readonly InputItem[],
  isSupported: () => boolean,
): void {
  if ([input].flat().some(({ type }) => type === 'image') && !isSupported())
    throw invalidError(`provider ${provider} does not support images`);
}
