import type { Turn } from '../../../api/sessions.ts';
import type { TurnSettings } from '../../../agents/provider.ts';

/** The settings that a session or a turn requests for its agent; null: the default of the session or provider. */
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
 * `agent_mode` of the session: the newest word decides in which mode the agent is.
 */
export function settingsOf(session: RequestedSettings, turn: RequestedSettings): TurnSettings {
  return {
    permissionMode: turn.permission_mode ?? session.permission_mode,
    agentMode: turn.agent_mode ?? (turn.permission_mode === null ? session.agent_mode : null),
    model: turn.model ?? session.model,
    thinkingEffort: turn.thinking_effort ?? session.thinking_effort,
  };
}
