import { systemClock } from '../../src/core/lib/clock.ts';
import { noFailpoints } from '../../src/core/lib/failpoint.ts';
import { systemIds } from '../../src/core/lib/ids.ts';
import { sqlWasm } from '../../src/core/lib/self.ts';
import { Database } from '../../src/core/store/database.ts';
import type { DatabaseOptions } from '../../src/core/store/open.ts';

/** Opens the database of a directory without a running server (default durability: full). */
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
