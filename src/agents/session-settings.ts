import type { ProviderId } from '../api/provider-kinds.ts';
import type { Model } from '../api/providers.ts';
import type { Session } from '../api/sessions.ts';
import { ProviderError, type TurnSettings } from './provider.ts';

/** The error for a mode of the agent's own, in a provider whose agents take theirs as `permission_mode`; else null. */
export function objectionToAgentMode(provider: ProviderId, { agentMode }: TurnSettings) {
  if (agentMode === null) return null;
  const message = `${provider}: agent_mode works with provider acp only: use permission_mode to set a mode of ${provider}`;
  return new ProviderError('invalid_agent_mode', message);
}

/** The error for an effort that none of the models has; null if they name no efforts. */
export function objectionToEffort(
  provider: ProviderId,
  { thinkingEffort: effort }: TurnSettings,
  models: readonly Model[],
) {
  const levels = new Set(models.flatMap(({ reasoning_levels }) => reasoning_levels));
  if (effort === null || levels.size === 0 || levels.has(effort)) return null;
  const message = `${provider}: unknown thinking_effort "${effort}": choose from ${[...levels].join(', ')}`;
  return new ProviderError('invalid_thinking_effort', message);
}

/** The settings that a session began with; null where it has had no agent yet. */
export function earlierDefaults({ provider_defaults: began }: Session): TurnSettings | null {
  if (!began) return null;
  return {
    permissionMode: began.permission_mode,
    agentMode: began.agent_mode,
    model: began.model,
    thinkingEffort: began.thinking_effort,
  };
}
