import { endpoints } from '../../../api/index.ts';
import type { CommandContext } from '../command-io.ts';

/** Marks a session as seen up to a seq, if stdout is a terminal. Never throws. */
export async function markSeen(
  { io, client, global }: CommandContext,
  session_id: string,
  seen_seq: number,
): Promise<void> {
  if (!io.stdout.isTTY || global.json) return;
  // The call fails for a token that may only read.
  await client
    .call(endpoints.updateSession, { params: { session_id }, body: { seen_seq } })
    .catch(() => undefined);
}
