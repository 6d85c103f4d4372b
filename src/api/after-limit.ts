import { z } from 'zod';

const HANDOFF = 'handoff:';

/** The action of a session at a usage limit of its agent. The name of an agent has the characters of `agentName`. */
export const afterLimit = z
  .string()
  .regex(
    /^(?:resume|wait|handoff:[a-zA-Z0-9][\w.-]{0,63})$/,
    'must be resume, wait or handoff:AGENT, such as handoff:codex',
  );
export type AfterLimit = z.output<typeof afterLimit>;

/** Returns the name of the provider or agent that continues a session at a usage limit; null if none does. */
export function handoffNameOf(action: AfterLimit): string | null {
  return action.startsWith(HANDOFF) ? action.slice(HANDOFF.length) : null;
}

/** Returns the action that hands a session over to a provider or agent. */
export function handoffAction(name: string): AfterLimit {
  return `${HANDOFF}${name}`;
}
