import { systemClock } from '../../src/lib/clock.ts';
import { noFailpoints } from '../../src/lib/failpoint.ts';
import { systemIds } from '../../src/lib/ids.ts';
import { sqlWasm } from '../../src/lib/self.ts';
import { Database } from '../../src/store/database.ts';
import type { DatabaseOptions } from '../../src/store/open.ts';

/** Opens the database of a directory that no server has open, at full durability unless a test says otherwise. */
export function openDatabase(
  directory: string,
  options: Partial<DatabaseOptions> = {},
): Promise<Database> {
  return Database.open({
    directory,
    wasm: sqlWasm,
    durability: 'full',
    clock: systemClock,
    failpoint: noFailpoints,
    onFatal(error) {
      throw error;
    },
    version: '1.0.0-test',
    newEpoch: () => systemIds.next('epoch'),
    ...options,
  });
}
