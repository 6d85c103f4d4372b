import path from 'node:path';
import { openConnection } from '../../src/core/store/connection.ts';
import { RawStatement } from '../../src/core/store/raw-statement.ts';
import { openReadOnly } from '../../src/core/store/read-only.ts';
import { sqlWasm } from '../../src/core/lib/self.ts';

/** Fields that depend on the run, not on the data. */
const ofRuns = new Set(['children', 'runs', 'sqlite_sequence', 'sqlite_stat1']);

/** Everything in a store that nobody has open, by table; of `meta` all but the id of the log and where it is from. */
export async function dump(file: string): Promise<Record<string, unknown>> {
  using connection = await openReadOnly(file, sqlWasm);
  const { host, handle } = connection;
  const all = (sql: string) => {
    const rows: unknown[][] = [];
    const statement = new RawStatement(host, handle, sql, () => undefined);
    statement.scan([], (row) => rows.push([...row]) > 0);
    statement.finalize();
    return rows;
  };
  const tables = all("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")
    .map(([name]) => String(name))
    .filter((name) => !ofRuns.has(name));
  const entries = tables.map((name) => [
    name,
    all(
      name === 'meta'
        ? "SELECT * FROM meta WHERE key NOT IN ('epoch', 'forked_from')"
        : `SELECT * FROM ${name}`,
    ),
  ]);
  return { format: all('PRAGMA user_version'), ...Object.fromEntries(entries) };
}

/** Runs SQL on the store of a data directory that nobody has open. */
export async function change(directory: string, sql: string): Promise<void> {
  using connection = await openConnection({ wasm: sqlWasm, directory });
  connection.sql.exec(sql);
}

export const storeIn = (directory: string) => path.join(directory, 'events.cadre');
