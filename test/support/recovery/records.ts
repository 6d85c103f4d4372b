import { mkdirSync } from 'node:fs';
import type { Approval } from '../../../src/api/approvals.ts';
import type { Item } from '../../../src/api/sessions.ts';
import { EventLog } from '../../../src/events/log.ts';
import { systemClock } from '../../../src/lib/clock.ts';
import { noFailpoints } from '../../../src/lib/failpoint.ts';
import { systemIds } from '../../../src/lib/ids.ts';
import { readAsset } from '../../../src/lib/self.ts';
import { SessionStore } from '../../../src/sessions/store.ts';
import { Database } from '../../../src/store/database.ts';
import type { Writer } from '../../../src/store/transaction.ts';

/** An approval that waits. */
export function anApproval(more: Partial<Approval> = {}): Approval {
  return {
    id: 'apr_1',
    session_id: 'sess_1',
    turn_id: 'turn_1',
    provider: 'acp',
    kind: 'tool',
    title: 'use a tool',
    request: { tool: 'x' },
    details: [],
    scopes: ['once'],
    session_allows: null,
    subject: { tool: 'x' },
    answers: null,
    status: 'pending',
    decision: null,
    scope: null,
    decided_by: null,
    reason: null,
    expires_at: null,
    created_at: 1,
    held: false,
    resolved_at: null,
    ...more,
  };
}

/** A message that is being said. */
export function anItem(more: Partial<Item> = {}): Item {
  return {
    item_id: 'item_1',
    session_id: 'sess_1',
    turn_id: 'turn_1',
    kind: 'message',
    status: 'open',
    text: '',
    tool: null,
    created_at: 1,
    completed_at: null,
    ...more,
  };
}

/** Writes rows, and events, into the store of a directory, as a run that died there could have left them. */
export async function leaveBehind(
  directory: string,
  write: (tx: Writer, store: SessionStore, log: EventLog) => void,
): Promise<void> {
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  const db = await Database.open({
    directory,
    wasm: readAsset('sql-wasm.wasm'),
    durability: 'full',
    clock: systemClock,
    failpoint: noFailpoints,
    onFatal(error) {
      throw error;
    },
    version: '0',
    newEpoch: () => systemIds.next('epoch'),
  });
  const log = new EventLog({ db, clock: systemClock, ids: systemIds });
  const store = new SessionStore({ db, log });
  await db.transact((tx) => write(tx, store, log));
  await db.close();
}
