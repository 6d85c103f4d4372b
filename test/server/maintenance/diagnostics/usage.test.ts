import { expect, test } from 'vitest';
import { StorageUsage } from '../../../../src/server/maintenance/diagnostics/usage.ts';
import { tempDirectory } from '../../../support/temp.ts';
import { openArchive } from '../../../support/retention/archive.ts';

test('The output of processes counts in the budget, but not as a part of the database.', async () => {
  await using directory = tempDirectory();
  await using archive = await openArchive(directory.path);
  const { db, clock, budget, settings } = archive;
  const usage = new StorageUsage({
    db,
    directory: directory.path,
    clock,
    budget,
    settings: () => settings,
  });
  const before = usage.figures();
  budget.logBytes += 1_000_000;
  const after = usage.figures();
  expect(after.database_bytes).toBe(before.database_bytes);
  expect(after.budget.used_bytes).toBe(before.budget.used_bytes + 1_000_000);
});
