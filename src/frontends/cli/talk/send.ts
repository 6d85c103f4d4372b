import type { BodyInputOf } from '../../../api/endpoint.ts';
import { endpoints } from '../../../api/index.ts';
import type { CommandContext } from '../world.ts';
import type { Accepted } from './follow-turn.ts';

/** Sends a turn to a session. Throws as the endpoint. */
export async function sendTurn(
  { client }: CommandContext,
  session_id: string,
  body: BodyInputOf<typeof endpoints.sendTurn>,
): Promise<Accepted> {
  const params = { session_id };
  // Whatever the turn does comes after what the log holds now.
  const { headers } = await client.ask(endpoints.getSession, { params });
  const accepted = await client.call(endpoints.sendTurn, { params, body });
  return { ...accepted, after: Number(headers['x-seq'] ?? 0) };
}
