import { endpoints } from '../../src/api/index.ts';
import type { Client } from '../../src/client/client.ts';
import type { UntypedEvent } from './untyped-events.ts';

/** Returns the events of a session, oldest first. */
export async function readEvents(client: Client, session_id: string): Promise<UntypedEvent[]> {
  const query = { limit: 10_000 };
  return client.call(endpoints.replaySessionEvents, { params: { session_id }, query });
}
