import { DEFAULT_AGENT } from '../api/provider-kinds.ts';
import type { Session } from '../api/sessions.ts';

/** The name of the agent of a session, or of its provider if it has none. Older servers send no name. */
export function agentOf({
  provider,
  agent,
}: Pick<Session, 'provider'> & Partial<Pick<Session, 'agent'>>): string {
  return !agent || agent === DEFAULT_AGENT ? provider : agent;
}
