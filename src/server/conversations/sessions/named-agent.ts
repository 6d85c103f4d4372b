import { AppError, invalidError } from '../../../api/errors.ts';
import { handoffNameOf } from '../../../api/after-limit.ts';
import { agentProvider, DEFAULT_AGENT, providerIds } from '../../../api/provider-kinds.ts';
import type { Session } from '../../../api/sessions.ts';
import type { AgentKinds } from './agent-slots.ts';

/** A provider, and the agent of a provider with named agents. */
export type NamedAgent = Pick<Session, 'provider' | 'agent'>;

/** Returns the agent that a name such as `codex` or `opencode` means. Throws `invalid` for an unknown name. */
export function agentNamed(name: string, kinds: Pick<AgentKinds, 'agentFor'>): NamedAgent {
  const provider = providerIds.find((id) => id === name);
  if (provider !== undefined) return { provider, agent: kinds.agentFor(provider, null) };
  try {
    return { provider: agentProvider, agent: kinds.agentFor(agentProvider, name) };
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    throw invalidError(
      `unknown agent "${name}": name a provider (${providerIds.join(', ')}) or an agent of the provider ${agentProvider}`,
    );
  }
}

/** Returns the name of an agent that {@link agentNamed} accepts. */
export function nameOf({ provider, agent }: NamedAgent): string {
  return agent === null || agent === DEFAULT_AGENT ? provider : agent;
}

export function isSameAgent(one: NamedAgent, other: NamedAgent): boolean {
  return one.provider === other.provider && one.agent === other.agent;
}

/** Throws if `after_limit` names a handoff to an unknown agent, to one that is not usable, or to the session's own. */
export function assertHandoff(
  session: NamedAgent,
  action: string | null | undefined,
  kinds: AgentKinds,
): void {
  const name = handoffNameOf(action ?? '');
  if (name === null) return;
  const refusal = (why: string) => `after_limit "${action}": ${why}`;
  try {
    const next = agentNamed(name, kinds);
    if (isSameAgent(next, session))
      throw invalidError(`${name} is the agent of the session itself: name another agent`);
    kinds.usable(next.provider, next.agent);
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    throw invalidError(refusal(error.message), { cause: error });
  }
}
