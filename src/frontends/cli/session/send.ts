import type { BodyInputOf } from '../../../api/endpoint.ts';
import { endpoints } from '../../../api/index.ts';
import type { CommandContext } from '../command-io.ts';
import type { Accepted } from './follow-turn.ts';
import { modeOf } from './turn-end.ts';

/** Sends a turn to a session, once for an Idempotency-Key. Throws as the endpoint, and `usage` for an unknown permission mode. */
export async function sendTurn(
  { client }: CommandContext,
  session_id: string,
  body: BodyInputOf<typeof endpoints.sendTurn>,
  key?: string,
): Promise<Accepted> {
  const params = { session_id };
  // Whatever the turn does comes after what the log holds now.
  const { value: session, headers } = await client.ask(endpoints.getSession, { params });
  const { permission_mode } = body;
  if (permission_mode)
    await (
      await import('./assert-mode.ts')
    ).assertPermissionMode({ client }, session, permission_mode);
  const sent = await client.ask(endpoints.sendTurn, { params, body }, undefined, key);
  const isRepeated = sent.headers['idempotency-replayed'] !== undefined;
  const after = isRepeated ? 0 : Number(headers['x-seq'] ?? 0);
  return { ...sent.value, after, mode: modeOf(body, session) };
}
