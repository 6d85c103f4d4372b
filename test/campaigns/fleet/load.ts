import { setTimeout as pause } from 'node:timers/promises';
import { endpoints } from '../../../src/api/index.ts';
import { AppError } from '../../../src/api/errors.ts';
import type { CampaignNode } from './node.ts';

/** A turn with deltas, a tool and an end. */
const SCRIPT = 'repeat 30 8 tick; tool look => found; say done';
const SESSIONS = 2;

/** Keeps the servers busy during `work` with short turns, one after the other, whatever their outcome. */
export async function underLoad<T>(
  nodes: readonly CampaignNode[],
  work: () => Promise<T>,
): Promise<T> {
  const stopping = new AbortController();
  const loads = nodes.flatMap((node) =>
    Array.from({ length: SESSIONS }, () => drive(node, stopping.signal)),
  );
  try {
    return await work();
  } finally {
    stopping.abort();
    await Promise.all(loads);
  }
}

async function drive(node: CampaignNode, signal: AbortSignal): Promise<void> {
  let session: string | null = null;
  while (!signal.aborted) {
    try {
      const { client } = node.server;
      session ??= (await client.call(endpoints.createSession, { body: { provider: 'acp' } })).id;
      await client.call(endpoints.sendTurn, {
        params: { session_id: session },
        body: { input: [{ type: 'text', text: SCRIPT }] },
      });
    } catch (error) {
      // A turn is still running, or the server is gone: the next attempt finds out.
      if (!(error instanceof AppError && error.code === 'turn_in_progress')) session = null;
    }
    await pause(40);
  }
}
