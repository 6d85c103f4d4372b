import { setTimeout as pause } from 'node:timers/promises';
import { endpoints } from '../../../src/api/index.ts';
import type { Client } from '../../../src/client/client.ts';
import { scaled } from '../../support/patience.ts';

const STANDSTILL_MS = 120_000;

/**
 * Waits until nothing runs or waits: no turn, approval, queue entry, delivery or process, and the search is up to date. A hook
 * may have thousands of events to deliver, so it rejects only after a time without progress.
 */
export async function untilAtRest(client: Client): Promise<void> {
  let before = '';
  for (let since = performance.now(); ; await pause(50)) {
    const busy = (await busyParts(client)).join(', ');
    if (busy === '') return;
    if (busy !== before) since = performance.now();
    before = busy;
    if (performance.now() - since > scaled(STANDSTILL_MS))
      throw new Error(`there is still ${busy}`);
  }
}

async function busyParts(client: Client): Promise<string[]> {
  const busy: string[] = [];
  for (const status of ['running', 'waiting_for_approval'] as const) {
    const sessions = await client.call(endpoints.listSessions, { query: { status } });
    busy.push(...sessions.map(({ id }) => `session ${id} (${status})`));
  }
  const approvals = await client.call(endpoints.listApprovals, { query: {} });
  busy.push(...approvals.filter(({ kind }) => kind !== 'budget').map(({ id }) => `approval ${id}`));
  const entries = await client.call(endpoints.listQueue, { query: {} });
  busy.push(...entries.map(({ id, status }) => `queue entry ${id} (${status})`));
  for (const { id } of await client.call(endpoints.listTeams, { query: {} }))
    for (const status of ['pending', 'deferred', 'injecting'] as const) {
      const call = { params: { team_id: id }, query: { status } };
      const deliveries = await client.call(endpoints.listDeliveries, call);
      busy.push(...deliveries.map((delivery) => `delivery ${delivery.id} (${status})`));
    }
  const hooks = await client.call(endpoints.listHooks, {});
  for (const { state, waiting, cursor } of hooks)
    if (state !== 'idle' || waiting > 0) busy.push(`a hook that is ${state} at event ${cursor}`);
  await client.call(endpoints.search, { query: { q: 'word', limit: 1 } });
  const { state, detail } = await client.call(endpoints.getSearchIndex, {});
  if (state !== 'ready') busy.push(`a search index that is ${state} (${detail ?? ''})`);
  return busy;
}
