import { DEFAULT_AGENT } from '../api/provider-kinds.ts';
import type { Session } from '../api/sessions.ts';

/** What people call the agent of a session: by its name, else by that of its provider. An older server tells no name. */
export function agentOf({
  provider,
  agent,
}: Pick<Session, 'provider'> & Partial<Pick<Session, 'agent'>>): string {
  return !agent || agent === DEFAULT_AGENT ? provider : agent;
}
