import { endpoints } from '../../../api/index.ts';
import type { CommandContext } from '../world.ts';

/** Tells the server that a person has seen a session up to a seq, where one looks at a terminal. Never throws. */
export async function markSeen(
  { world, client, global }: CommandContext,
  session_id: string,
  seen_seq: number,
): Promise<void> {
  if (!world.stdout.isTTY || global.json) return;
  // A token that may only read cannot say so, which is no reason to fail.
  await client
    .call(endpoints.updateSession, { params: { session_id }, body: { seen_seq } })
    .catch(() => undefined);
}
