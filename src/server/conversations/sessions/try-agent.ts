import { type Agent, type TurnSettings, ProviderError } from '../../../agents/provider.ts';
import { errorMessage } from '../../../core/lib/error-message.ts';
import type { LiveAgent } from './running-turn.ts';

/** The result of a try: the agent is there, it could not be started, or this is not the time to find out. */
export type Trial = { is: 'ready' } | { is: 'failed'; reason: string } | { is: 'later' };

/** Waits until an agent has offered the options that some settings name. Throws its objection to them. */
export async function offered(
  agent: Agent,
  settings: TurnSettings,
  signal: AbortSignal,
): Promise<void> {
  if (agent.awaits?.(settings)) {
    await agent.untilOffered?.(settings, signal);
    signal.throwIfAborted();
  }
  const objection = agent.objection(settings);
  if (objection) throw objection;
}

export async function tryAgent(
  start: () => Promise<LiveAgent | undefined>,
  settings: TurnSettings,
  signal: AbortSignal,
): Promise<Trial> {
  try {
    const live = await start();
    if (!live) return { is: 'later' };
    await offered(live.agent, settings, signal);
    return { is: 'ready' };
  } catch (error) {
    if (signal.aborted) return { is: 'later' };
    const { code, message } = failureOf(error);
    // A turn fails the session, and its events show the loss.
    return code === 'resume_failed' ? { is: 'ready' } : { is: 'failed', reason: message };
  }
}

/** Returns the error of a turn whose agent could not be started, or threw. */
export function failureOf(error: unknown): { code: string; message: string } {
  if (error instanceof ProviderError) return { code: error.code, message: error.message };
  return {
    code: 'provider_unavailable',
    message: errorMessage(error),
  };
}
