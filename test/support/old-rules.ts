import fs from 'node:fs';
import { RecordTable } from '../../src/core/store/records.ts';
import { openDatabase } from './database.ts';

/** Stores approval rules in a new data directory, as earlier versions did, which refused fewer rules. */
export async function storeOldRules(
  directory: string,
  rules: readonly { id: string; effect: string; command: string }[],
): Promise<void> {
  fs.mkdirSync(directory);
  const db = await openDatabase(directory);
  const table = new RecordTable<{ id: string }>(db, 'approval_rules', ({ id }) => id);
  const none = { provider: null, tool: null, path: null, directory: null, reason: null };
  await db.transact((tx) => {
    for (const rule of rules)
      table.insert(tx, { ...none, ...rule, created_by: 'admin', created_at: 1 } as { id: string });
  });
  await db.close();
}
